// The elements of a page, each of the type that the script needs. A page that lacks one is wrong, and the error says which.

/**
 * @template {Element} E
 * @param {Element | null} found
 * @param {string} selector
 * @param {new () => E} type
 * @returns {E}
 */
function checked(found, selector, type) {
  if (!(found instanceof type)) throw new Error(`${selector} of this page is ${found ? `a ${found.constructor.name}` : 'missing'}, want a ${type.name}`);
  return found;
}

const anyElement = /** @type {new () => any} */ (HTMLElement);

/**
 * @template {Element} [E=HTMLElement]
 * @param {string} id
 * @param {new () => E} [type]
 */
const byId = (id, type = anyElement) => checked(document.getElementById(id), '#' + id, type);

/**
 * @template {Element} [E=HTMLElement]
 * @param {string} selector
 * @param {new () => E} [type]
 * @param {ParentNode} [within]
 */
const query = (selector, type = anyElement, within = document) => checked(within.querySelector(selector), selector, type);

/**
 * queryAll returns none if there are none.
 * @template {Element} [E=HTMLElement]
 * @param {string} selector
 * @param {new () => E} [type]
 * @param {ParentNode} [within]
 */
const queryAll = (selector, type = anyElement, within = document) => [...within.querySelectorAll(selector)].map((e) => checked(e, selector, type));

/**
 * context returns what draws on a canvas.
 * @param {HTMLCanvasElement} canvas
 */
function context(canvas) {
  const ctx = canvas.getContext('2d');
  if (!ctx) throw new Error('The browser does not draw on canvases.');
  return ctx;
}
