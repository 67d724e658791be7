// A page that lockpick serve shows leads back to the list of all runs. As a file it has nowhere to lead to.

function wayBack() {
  const back = document.getElementById('back');
  if (back) back.hidden = !(location.protocol.startsWith('http') && location.pathname.startsWith('/store/'));
}
wayBack();
