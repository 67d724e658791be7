// Everything that a mouse can do on the timeline, by keys.

function listenToKeys(app, canvas) {
  const lanes = () => app.lanes.list.filter((l) => l.kind !== 'rest' && (l.kind !== 'faults' || app.data.faults.length));
  const lane = () => lanes().find((l) => app.lane === l.kind + l.i);

  const choose = (by) => {
    const all = lanes(), at = all.findIndex((l) => app.lane === l.kind + l.i);
    const next = all[Math.min(Math.max(at < 0 ? 0 : at + by, 0), all.length - 1)];
    app.lane = next.kind + next.i;
    app.redraw();
    step(0);
  };

  // items lists what can be stepped through in a lane, in order of time.
  const items = (l) => {
    const {data} = app, shown = (kind, order, key) => Array.from(order.items).filter((i) => app.lanes.shows(key[i])).map((i) => ({kind, i, at: order.from(i)}));
    switch (l.kind) {
      case 'violations': return data.violations.map((v, i) => ({kind: 'violation', i, at: v.at})).filter((v) => app.lanes.shows(data.violations[v.i].key));
      case 'faults': return data.faults.map((f, i) => ({kind: 'fault', i, at: f.from})).filter((it) => app.lanes.showsFault(data.faults[it.i]));
      case 'client': return shown('attempt', app.lanes.attempts[l.i], data.attempts.key);
      default: return shown('stored', app.lanes.stored[l.i], data.stored.key);
    }
  };

  // step pins the next or previous item of the chosen lane and keeps it in sight.
  const step = (by) => {
    const l = lane();
    if (!l) return choose(0);
    const all = items(l);
    if (!all.length) return;
    const at = all.findIndex((it) => app.pinned && it.kind === app.pinned.kind && it.i === app.pinned.i);
    let next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (at < 0) next = all.find((it) => it.at >= app.view.from) || all[all.length - 1];
    app.pin(next);
    if (next.at < app.view.from || next.at > app.view.to) app.view.glide(next.at - app.view.span * 0.3, next.at + app.view.span * 0.7);
  };

  const keys = {
    '+': () => app.view.zoom(0.7), '=': () => app.view.zoom(0.7), '-': () => app.view.zoom(1 / 0.7), '_': () => app.view.zoom(1 / 0.7),
    ArrowLeft: () => app.view.pan(-app.view.span * 0.12), ArrowRight: () => app.view.pan(app.view.span * 0.12),
    PageUp: () => app.view.pan(-app.view.span * 0.9), PageDown: () => app.view.pan(app.view.span * 0.9),
    Home: () => app.view.jump(app.view.start, app.view.start + app.view.span), End: () => app.view.jump(app.view.stop - app.view.span, app.view.stop), 0: () => app.view.fit(),
    ArrowUp: () => choose(-1), ArrowDown: () => choose(1), '[': () => step(-1), ']': () => step(1), Enter: () => step(0),
    ',': () => app.stepper && app.stepper.go(app.stepper.at - 1), '.': () => app.stepper && app.stepper.go(app.stepper.at + 1),
    r: () => app.range.select(app.view.from, app.view.to),
    v: () => app.violation(app.current + 1), V: () => app.violation(app.current - 1),
  };
  canvas.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });
  document.addEventListener('keydown', (e) => {
    if (e.key === 'Escape' && app.pinned) {
      app.pin(null);
      if (document.activeElement !== canvas) canvas.focus({preventScroll: true});
    }
  });
}
