// Package web has what all pages share: their head, style sheet and security policy, and the marks of verdicts and levels.
//
// A package that renders a page embeds its template, style sheets and scripts in a folder page of its own, and declares a
// Page once. The data of its template embeds a Frame. Page.Write joins the style sheets (page.css of this package first)
// and the scripts into the page, and names them by their hashes in the policy: nothing else can run in the page, whatever
// a key or an error in a history contains, and it loads nothing. matrix.css is for pages with a table of marks, back.js for
// those that lockpick serve shows, too. chart.go counts events for bars.
package web
