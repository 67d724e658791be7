package process

import (
	"context"
	"fmt"

	"lockpick/cluster"
	"lockpick/cluster/resp"
)

// checkAbilities finds out what the first server cannot do although masters need it. It returns an error if the server
// does not keep its data as the configuration asks for: a run would judge another persistence. What only some locks need
// is said. Whether MONITOR and keyspace events are there is found out where somebody wants an account (Account), and
// whether the shim works in prove.
func (g *group) checkAbilities(ctx context.Context, cfg cluster.Config) error {
	client := g.masters[0].now().inspection()
	if client == nil {
		return nil // it has ended meanwhile, which others notice
	}
	if cfg.Persistence == cluster.Everysec || cfg.Persistence == cluster.Always {
		text, err := client.Info(ctx, "persistence").Result()
		if err != nil || resp.Info(text)["aof_enabled"] != "1" {
			return fmt.Errorf("%s %s keeps no append-only file, which persistence %s needs (INFO persistence: aof_enabled is not 1): choose persistence none or rdb", g.server, g.version, cfg.Persistence)
		}
	}
	if err := client.Eval(ctx, "return 1", nil).Err(); err != nil {
		g.say("%s %s runs no Lua scripts, which most locks need to release and extend: %v", g.server, g.version, err)
	}
	return nil
}
