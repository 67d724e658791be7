package otherfile

// nonblock is nothing: there are no pipes.
const nonblock = 0
