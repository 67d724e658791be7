package reports

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"
)

// rgb is a colour in linear light.
type rgb [3]float64

func colour(t *testing.T, hex string) rgb {
	t.Helper()
	var c [3]int
	if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("%s: %v", hex, err)
	}
	var out rgb
	for i, v := range c { // IEC 61966-2-1
		if x := float64(v) / 255; x <= 0.04045 {
			out[i] = x / 12.92
		} else {
			out[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return out
}

// times multiplies a colour with a matrix, and keeps the result within what screens can show.
func (c rgb) times(m [3][3]float64) (out rgb) {
	for i, row := range m {
		out[i] = min(max(row[0]*c[0]+row[1]*c[1]+row[2]*c[2], 0), 1)
	}
	return out
}

// deuteranope is how people without receptors for green see colours (Machado, Oliveira and
// Fernandes 2009, severity 1).
var deuteranope = [3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}

// lab is the colour in CIELAB under D65.
func (c rgb) lab() [3]float64 {
	xyz := [3]float64{
		(0.4124564*c[0] + 0.3575761*c[1] + 0.1804375*c[2]) / 0.95047,
		0.2126729*c[0] + 0.7151522*c[1] + 0.0721750*c[2],
		(0.0193339*c[0] + 0.1191920*c[1] + 0.9503041*c[2]) / 1.08883,
	}
	for i, v := range xyz {
		if v > 0.008856 {
			xyz[i] = math.Cbrt(v)
		} else {
			xyz[i] = 7.787*v + 16.0/116
		}
	}
	return [3]float64{116*xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])}
}

// difference is the CIE76 colour difference: about 2.3 is just noticeable.
func difference(a, b rgb) float64 {
	x, y := a.lab(), b.lab()
	return math.Sqrt(math.Pow(x[0]-y[0], 2) + math.Pow(x[1]-y[1], 2) + math.Pow(x[2]-y[2], 2))
}

// contrast is that of WCAG 2.
func contrast(a, b rgb) float64 {
	luminance := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	x, y := luminance(a), luminance(b)
	return max(x, y) / min(x, y)
}

// TestClientColours: the colours of eight clients can be told apart, also without seeing red and
// green, and text in the colour of the panel can be read on each.
func TestClientColours(t *testing.T) {
	style, err := os.ReadFile("web/page/page.css")
	if err != nil {
		t.Fatal(err)
	}
	panels := regexp.MustCompile(`--panel: (#[0-9a-f]{6})`).FindAllStringSubmatch(string(style), -1)
	var all []string
	for _, m := range regexp.MustCompile(`--client-\d: (#[0-9a-f]{6})`).FindAllStringSubmatch(string(style), -1) {
		all = append(all, m[1])
	}
	if len(all) != 16 || len(panels) < 2 {
		t.Fatalf("%d colours of clients and %d of panels, want 8 and 1 each for light and dark", len(all), len(panels))
	}
	for i, scheme := range []string{"light", "dark"} {
		panel := colour(t, panels[i][1])
		var seen []rgb
		names := all[8*i : 8*i+8]
		for j, name := range names {
			c := colour(t, name)
			if x := contrast(c, panel); x < 4.5 {
				t.Errorf("%s %s: a contrast of %.1f with the panel", scheme, name, x)
			}
			if x := contrast(c, colour(t, "#000000")); x < 2 {
				t.Errorf("%s %s: a contrast of %.1f with black, from which nobody can tell it", scheme, name, x)
			}
			for k, other := range seen {
				plain, reduced := difference(c, other), difference(c.times(deuteranope), other.times(deuteranope))
				if min(plain, reduced) < 20 {
					t.Errorf("%s: %s and %s differ by %.1f, and by %.1f to a deuteranope", scheme, names[k], names[j], plain, reduced)
				}
			}
			seen = append(seen, c)
		}
	}
}
