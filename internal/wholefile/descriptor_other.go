//go:build !unix

package wholefile

import (
	"errors"
	"os"
)

// descriptorOf is implemented for Unix only.
func descriptorOf(string) (int, bool) { return 0, false }

func openDescriptor(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
