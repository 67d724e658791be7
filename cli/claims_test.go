package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockpick/claims"
)

// TestDocumentedClaimsExist: what the documentation links to as claims.md#claim-… is there.
func TestDocumentedClaimsExist(t *testing.T) {
	known := map[string]bool{}
	for _, c := range claims.Catalogue() {
		known[c.ID] = true
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range append(pages, "../README.md") {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(b), "claims.md#claim-")[1:] {
			id := part[:strings.IndexAny(part, ")\" \n")]
			if !known[id] {
				t.Errorf("%s links to the claim %q, which there is not", page, id)
			}
		}
	}
}

// TestTheExampleOfAClaimIsTrue: the file in docs/writing-claims.md is as it says.
func TestTheExampleOfAClaimIsTrue(t *testing.T) {
	b, err := os.ReadFile("../docs/writing-claims.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), "```yaml")
	_, text, _ = strings.Cut(text, "\n")
	text, _, closed := strings.Cut(text, "```")
	if !ok || !closed {
		t.Fatal("there is no example in YAML")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "my-claims.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, stderr, code := lockpick(t, dir, "claims", "--catalogue", "my-claims.yaml", "--most", "5"); code != 0 {
		t.Errorf("exit %d\n%s\n%s", code, out, stderr)
	}
}

// TestClaims verifies three claims, then the same with a catalogue that expects otherwise.
func TestClaims(t *testing.T) {
	dir := t.TempDir()
	args := []string{"claims", "--most", "4", "--only", "35,29,44", "--junit", "junit.xml", "--html", "claims.html", "--baseline", "baseline.json"}
	out, stderr, code := lockpick(t, dir, args...)
	if code != 0 || !strings.Contains(out, "3 claims on sim") || !strings.Contains(out, "2 as expected, 1 not here") {
		t.Fatalf("exit %d\n%s\n%s", code, out, stderr)
	}
	for file, says := range map[string]string{
		"junit.xml": `failures="0" errors="0"`, "claims.html": `id="claim-35"`, "baseline.json": `"violated"`,
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(b), says) {
			t.Errorf("%s does not say %s (%v)", file, says, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "claims.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(page), `href="store/`)[1:] {
		if _, err := os.Stat(filepath.Join(dir, "store", part[:strings.IndexByte(part, '"')])); err != nil {
			t.Errorf("a cell of the page leads nowhere: %v", err)
		}
	}

	out, stderr, code = lockpick(t, dir, args...)
	if code != 0 || !strings.Contains(out, "Nothing changed since the baseline baseline.json.") {
		t.Errorf("the same again: exit %d\n%s\n%s", code, out, stderr)
	}

	b, err := os.ReadFile("../claims/catalogue/60-restarts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(b), "persistence: always}", "persistence: none}", 1) // the twin of 35
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code = lockpick(t, dir, "claims", "--most", "4", "--catalogue", "mine.yaml", "--only", "35", "--junit", "junit.xml", "--baseline", "baseline.json")
	if code != 1 || !strings.Contains(out, "Claim 35 is not as expected") || !strings.Contains(out, "Changed since the baseline") {
		t.Errorf("a twin that is guilty: exit %d\n%s\n%s", code, out, stderr)
	}
	if b, err = os.ReadFile(filepath.Join(dir, "junit.xml")); err != nil || !strings.Contains(string(b), `failures="1"`) {
		t.Errorf("JUnit has no failure (%v): %s", err, b)
	}

	out, stderr, code = lockpick(t, dir, "claims", "--most", "2", "--only", "44")
	if code != 2 {
		t.Errorf("nothing that runs here: exit %d\n%s\n%s", code, out, stderr)
	}
}
