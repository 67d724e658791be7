package resp

import "strings"

// Info parses the reply to INFO: the value of each field.
func Info(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(name, "#") {
			fields[name] = value
		}
	}
	return fields
}

// ServerOf returns the name and the version by which a server calls itself in its reply to INFO server. Servers that
// descend from Redis keep redis_version for the version with which they are compatible, and have a field of
// their own beside it: valkey_version, redict_version, dragonfly_version, garnet_version.
func ServerOf(info map[string]string) (name, version string) {
	for field, value := range info {
		switch own, ok := strings.CutSuffix(field, "_version"); {
		case !ok || value == "":
		case own == "redis", own == "gcc", own == "proto": // gcc_version is the compiler's
		case name == "" || own < name:
			name, version = own, value
		}
	}
	if name == "" {
		name, version = "redis", info["redis_version"]
		if own := info["server_name"]; own != "" {
			name = own
		}
	}
	return name, version
}
