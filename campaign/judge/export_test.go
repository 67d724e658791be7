package judge

// What the tests of other sizes than those of ForReport need.
const (
	ExcerptNote = excerptNote
	LinesAround = linesAround
)

var (
	ForReportOf = forReport
	CheckParts  = checkParts
)
