// Package card renders what package audit found out: Terminal, WritePage, Markdown and JUnit a report card, and their
// siblings a scoreboard of several cards. words.go says in words what a cell means, for all of them. It stands apart
// from audit so that a test of a lock (package locktest) brings no terminal tables and no pages along.
package card
