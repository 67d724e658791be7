//go:build real

package reports

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"lockpick/checker"
	"lockpick/internal/browsertest"
)

// TestScreens compares the first screen of a violated, a holding and an inconclusive run, in light and
// dark, with pictures in testdata/screens. What is compared are blocks of pixels, so that another
// version of the browser or of a font makes no difference, and a part that is missing, moved or of another colour does.
// After a change that is meant, look at the new pictures: go test ./reports -run TestScreens -rewrite.
func TestScreens(t *testing.T) {
	ctx := browsertest.Start(t)
	for _, c := range []struct {
		name string
		plan plan
		less bool // a verdict rests on too little
		says string
		dark bool
	}{
		{"violated", violatedPlan(), false, "VIOLATED", false},
		{"holding", soundPlan(), false, "HOLDS", false},
		{"inconclusive", soundPlan(), true, "INCONCLUSIVE", false},
		{"violated-dark", violatedPlan(), false, "VIOLATED", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, r := synthesize(c.plan)
			for i := range r.Verdicts {
				if v := &r.Verdicts[i]; c.less && v.Property.Name == checker.MutualExclusion.Name {
					v.Verdict, v.Why = checker.Invalid, "needs 10 contended acquisitions, got 4: try a longer --time-limit or fewer --keys"
				}
			}
			b := browsertest.Open(t, ctx, func(w io.Writer) error { return HTML(w, h, r, nil) }, 1280, 900, c.dark)
			b.Wait("the first drawing", `window.lockpick && lockpick.drawn > 0`)
			if word := browsertest.Ask[string](b, `document.querySelector('h1 .word').innerText`); !bytes.Contains([]byte(word), []byte(c.says)) {
				t.Fatalf("it says %q, want %s", word, c.says)
			}
			shot, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			got, err := png.Decode(bytes.NewReader(shot))
			if err != nil {
				t.Fatal(err)
			}
			compareScreen(t, filepath.Join("testdata", "screens", c.name+".png"), blocksOf(got))
		})
	}
}

// block is the length of the sides of what is compared, in pixels.
const block = 16

// blocksOf returns a picture in which each pixel is the mean of a block.
func blocksOf(from image.Image) *image.RGBA {
	size := from.Bounds().Size()
	out := image.NewRGBA(image.Rect(0, 0, size.X/block, size.Y/block))
	for y := range size.Y / block {
		for x := range size.X / block {
			var sum [3]uint32
			for i := range block * block {
				r, g, b, _ := from.At(x*block+i%block, y*block+i/block).RGBA()
				sum[0], sum[1], sum[2] = sum[0]+r>>8, sum[1]+g>>8, sum[2]+b>>8
			}
			const n = block * block
			out.SetRGBA(x, y, color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255})
		}
	}
	return out
}

func compareScreen(t *testing.T, path string, got *image.RGBA) {
	t.Helper()
	rewrite := flag.Lookup("rewrite")
	b, err := os.ReadFile(path)
	if rewrite.Value.String() == "true" || errors.Is(err, fs.ErrNotExist) {
		var buf bytes.Buffer
		if err := errors.Join(png.Encode(&buf, got), os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, buf.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		if rewrite.Value.String() != "true" {
			t.Errorf("%s was missing, and is written now: look at it", path)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if want.Bounds() != got.Bounds() {
		t.Fatalf("the screen has %v blocks, want %v", got.Bounds().Size(), want.Bounds().Size())
	}
	var off []string
	for y := range got.Rect.Dy() {
		for x := range got.Rect.Dx() {
			g := got.RGBAAt(x, y)
			r0, g0, b0, _ := want.At(x, y).RGBA()
			if d := max(apart(g.R, r0), apart(g.G, g0), apart(g.B, b0)); d > 40 {
				off = append(off, fmt.Sprintf("%d,%d: %d", x*block, y*block, d))
			}
		}
	}
	if all := got.Rect.Dx() * got.Rect.Dy(); len(off) > all/200 { // some words may break elsewhere
		t.Errorf("%d of %d blocks of the screen differ from %s, the first at the pixels %v", len(off), all, path, off[:min(len(off), 8)])
	}
}

func apart(got uint8, want uint32) int {
	d := int(got) - int(want>>8)
	return max(d, -d)
}
