// Package clients contains example clients in other languages, and starts them by name. Each client
// tests an unmodified library. docs/clients.md describes the protocol between client and harness.
package clients

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"lockpick/examples/services"
	"lockpick/internal/wholefile"
)

//go:embed java node perl php python ruby
var files embed.FS

// Client is an example client.
type Client struct {
	Name     string
	Language string
	Summary  string     // one line
	Package  string     // Debian packages to install
	Build    string     // the command that builds it in a checkout; empty: nothing is to be built
	Store    string     // the scenario in examples/services with the servers that it uses; empty: Redis masters
	Promise  string     // promise of its documentation about safety, in our words; empty: it uses no library
	Source   string     // where the promise is
	file     string     // empty: program is on the PATH
	program  string     // what Build makes
	needs    []string   // programs and files of the store's servers
	args     []string   // arguments after the file
	run      [][]string // interpreters to try, with their arguments
	probe    []string   // arguments with which an interpreter succeeds if it has the library
	class    string     // class of a file in Java, which is compiled before it runs; empty: the interpreter runs the file
}

// The interpreters to try. A second installation of a language may lack the distribution's
// libraries.
var (
	python = [][]string{{"python3"}, {"/usr/bin/python3"}}
	php    = [][]string{{"php"}}
	node   = [][]string{{"node"}, {"env", "NODE_PATH=/usr/share/nodejs", "node"}}
	ruby   = [][]string{{"ruby"}, {"/usr/bin/ruby"}}
	perl   = [][]string{{"perl"}, {"/usr/bin/perl"}}
	java   = [][]string{{"java", quickStart, serialGC}, {"/usr/bin/java", quickStart, serialGC}}
)

// Options of Java for a process that lives for seconds on few processors. A client starts with each life of a process:
// with them and compiled before it took 0.18 s of a processor, and 1.9 s when Java compiled the source at each start.
const (
	quickStart = "-XX:TieredStopAtLevel=1"
	serialGC   = "-XX:+UseSerialGC"
)

const symfony = `require 'Symfony/Component/Lock/autoload.php'; exit(class_exists('Redis') && class_exists('Symfony\Component\Lock\LockFactory') ? 0 : 1);`

const mediaWiki = `require 'Psr/Log/autoload.php'; exit(class_exists('Redis') && is_file('/usr/share/mediawiki/includes/libs/lockmanager/RedisLockManager.php') ? 0 : 1);`

// The programs of clients in Go, and the commands that build them. They are modules of their own, because they need the
// libraries that they test.
const (
	goProgram   = "lockpick-go-clients"
	goBuild     = "go build -C clients/go -o ~/bin/" + goProgram + " ."
	etcdProgram = "lockpick-etcd"
	etcdBuild   = "go build -C examples/services/etcd -o ~/bin/" + etcdProgram + " ."
)

// What the servers of the stores other than Redis masters need.
var (
	etcdServer      = []string{"etcd"}
	redisServer     = []string{"redis-server"}
	zookeeperServer = []string{"java", "/usr/share/java/zookeeper.jar"}
)

const (
	etcdPackages      = "etcd-server"
	redisPackages     = "redis-server python3-redis"
	zookeeperPackages = "default-jre-headless libzookeeper-java"
)

// All lists the clients.
var All = []Client{
	{Name: "redis-py", Language: "Python", Summary: "redis-py's Lock, on the first master", Package: "python3-redis",
		Promise: "A lock that processes and machines share. It is released when its timeout is over; to avoid deadlocks between locks is the user's task.", Source: "the documentation of redis.lock.Lock",
		file: "python/redis_py.py", run: python, probe: []string{"-c", "import redis"}},
	{Name: "tooz", Language: "Python", Summary: "OpenStack's tooz with its Redis driver, on the first master", Package: "python3-tooz python3-redis",
		Promise: "Consistent on one server only. For locks it asks for a Redis with an append-only file, and says that values can be lost in a failover.", Source: "the documentation of tooz.drivers.redis.RedisDriver",
		file: "python/tooz_redis.py", run: python, probe: []string{"-c", "import redis, tooz.drivers.redis"}},
	{Name: "symfony-lock", Language: "PHP", Summary: "Symfony's Lock with a RedisStore, on the first master", Package: "php-cli php-symfony-lock php-redis",
		Promise: "One holder at a time. Locks are in memory and would be lost when Redis restarts, so it asks for care with restarts; work has to be shorter than the lock's TTL.", Source: "symfony.com/doc, The Lock Component, Reliability",
		file: "php/symfony_lock.php", run: php, probe: []string{"-r", symfony}},
	{Name: "symfony-combined", Language: "PHP", Summary: "Symfony's Lock with a CombinedStore and the ConsensusStrategy, over all masters", Package: "php-cli php-symfony-lock php-redis",
		Promise: "As one store, and with a strict majority of stores. It asks that all of them are equally reliable, and that none restarts without its keys.", Source: "symfony.com/doc, The Lock Component, Reliability",
		file: "php/symfony_lock.php", args: []string{"combined"}, run: php, probe: []string{"-r", symfony}},
	{Name: "symfony-read-write", Language: "PHP", Summary: "Symfony's Lock as a read-write lock, on the first master", Package: "php-cli php-symfony-lock php-redis",
		Promise: "Readers together, or one writer; a reader may become the writer if nobody else reads, and a writer a reader.", Source: "symfony.com/doc, The Lock Component, Shared Locks",
		file: "php/symfony_shared.php", run: php, probe: []string{"-r", symfony}},
	{Name: "symfony-semaphore", Language: "PHP", Summary: "Symfony's Semaphore, on the first master", Package: "php-cli php-symfony-lock php-symfony-semaphore php-redis",
		Promise: "At most as many holders at a time as it has room for, each for as long as its TTL.", Source: "symfony.com/doc, The Semaphore Component",
		file: "php/symfony_shared.php", args: []string{"semaphore"}, run: php, probe: []string{"-r", `require 'Symfony/Component/Semaphore/autoload.php'; ` + symfony}},
	{Name: "mediawiki", Language: "PHP", Summary: "MediaWiki's RedisLockManager, over all masters", Package: "php-cli php-redis php-psr-log mediawiki-classes",
		Promise: "A majority of peers must agree for a lock to be acquired. A lock's age is measured by the clocks of its clients, and is 5 s or more; the client here allows 1 s.", Source: "the documentation of RedisLockManager and LockManager",
		file: "php/mediawiki.php", run: php, probe: []string{"-r", mediaWiki}},
	{Name: "laravel", Language: "PHP", Summary: "Laravel's RedisLock over Predis, on the first master", Package: "php-cli php-illuminate-cache php-predis",
		Promise: "Atomic locks across servers, without races; only the owner releases its lock.", Source: "laravel.com/docs, Cache, Atomic Locks",
		file: "php/laravel.php", run: php, probe: []string{"-r", `require 'Illuminate/Cache/autoload.php'; require 'Predis/autoload.php';`}},
	{Name: "node-redis", Language: "JavaScript", Summary: "a textbook lock over node-redis, on the first master", Package: "nodejs node-redis", file: "node/node_redis.js", run: node, probe: []string{"-e", "require('redis')"}},
	{Name: "redis-rb", Language: "Ruby", Summary: "a textbook lock over redis-rb, on the first master", Package: "ruby-redis", file: "ruby/redis_rb.rb", run: ruby, probe: []string{"-e", "require 'redis'"}},
	{Name: "redis-perl", Language: "Perl", Summary: "a textbook lock over Redis.pm, on the first master", Package: "libredis-perl", file: "perl/redis.pl", run: perl, probe: []string{"-e", "use Redis"}},
	{Name: "java-socket", Language: "Java", Summary: "a textbook lock over a plain socket, on the first master", Package: "default-jre-headless", file: "java/Lock.java", class: "Lock", run: java, probe: []string{"--add-modules", "jdk.compiler", "--version"}},
	{Name: "go-redsync", Language: "Go", Summary: "redsync, over all masters", Build: goBuild, program: goProgram,
		Promise: "Mutual exclusion as the Redis documentation describes it (distlock). It says that the algorithm was not formally analysed.", Source: "README of github.com/go-redsync/redsync/v4",
		args: []string{"redsync"}},
	{Name: "go-redislock", Language: "Go", Summary: "bsm/redislock, on the first master", Build: goBuild, program: goProgram,
		Promise: "A simple distributed lock, with a reference to the Redis documentation (distlock).", Source: "README of github.com/bsm/redislock",
		args: []string{"redislock"}},
	{Name: "go-rueidislock", Language: "Go", Summary: "rueidislock, on the first master", Build: goBuild, program: goProgram,
		Promise: "The lock's context ends at once when its keys are not held any more, as Redis reports changed keys to the client; the lock is extended by itself.", Source: "README of github.com/redis/rueidis/rueidislock",
		args: []string{"rueidislock"}},
	{Name: "go-zero", Language: "Go", Summary: "go-zero's RedisLock, on the first master", Build: goBuild, program: goProgram,
		Promise: "A lock in Redis; its documentation says nothing about failures.", Source: "the documentation of core/stores/redis.RedisLock",
		args: []string{"go-zero"}},
	{Name: "redis-py-sentinel", Language: "Python", Summary: "a textbook lock over redis-py's Sentinel, with the master's clock as fencing token", Store: "sentinel", Package: redisPackages, needs: redisServer,
		file: "redis_lock.py", args: []string{"sentinel", "clock"}, run: python, probe: []string{"-c", "import redis"}},
	{Name: "redis-py-cluster", Language: "Python", Summary: "a textbook lock over redis-py's RedisCluster, with the master's clock as fencing token", Store: "cluster", Package: redisPackages, needs: redisServer,
		file: "redis_lock.py", args: []string{"cluster", "clock"}, run: python, probe: []string{"-c", "import redis.cluster"}},
	{Name: "go-redislock-sentinel", Language: "Go", Summary: "bsm/redislock on go-redis' FailoverClient, which asks the Sentinels", Store: "sentinel", Package: "redis-server", needs: redisServer, Build: goBuild, program: goProgram,
		Promise: "A simple distributed lock, with a reference to the Redis documentation (distlock).", Source: "README of github.com/bsm/redislock",
		args: []string{"redislock-sentinel"}},
	{Name: "go-redislock-cluster", Language: "Go", Summary: "bsm/redislock on go-redis' ClusterClient", Store: "cluster", Package: "redis-server", needs: redisServer, Build: goBuild, program: goProgram,
		Promise: "A simple distributed lock, with a reference to the Redis documentation (distlock).", Source: "README of github.com/bsm/redislock",
		args: []string{"redislock-cluster"}},
	{Name: "etcd", Language: "Go", Summary: "etcd's concurrency.Mutex; a lease is counted from the sending of the last keep-alive that was answered", Store: "etcd", Package: etcdPackages, Build: etcdBuild, program: etcdProgram, needs: etcdServer,
		Promise: "Locks rest on leases, and leases do not guarantee mutual exclusion; the resource should check the revision of the lock's key.", Source: "etcd.io/docs, etcd versus other key-value stores, Notes on the usage of lock and lease",
		args: []string{"timed"}},
	{Name: "etcd-done", Language: "Go", Summary: "etcd's concurrency.Mutex; a lease ends when the session's Done is closed", Store: "etcd", Package: etcdPackages, Build: etcdBuild, program: etcdProgram, needs: etcdServer,
		Promise: "Done is closed when the lease is orphaned, expires, or is otherwise no longer refreshed.", Source: "the documentation of clientv3/concurrency.Session",
		args: []string{"done"}},
	{Name: "etcd-read-write", Language: "Go", Summary: "etcd's recipe RWMutex; a lease is counted as that of etcd", Store: "etcd", Package: etcdPackages, Build: etcdBuild, program: etcdProgram, needs: etcdServer,
		Promise: "Locks rest on leases, and leases do not guarantee mutual exclusion.", Source: "etcd.io/docs, etcd versus other key-value stores, Notes on the usage of lock and lease",
		args: []string{"timed", "read-write"}},
	{Name: "python3-etcd3", Language: "Python", Summary: "python3-etcd3's Lock; it has no way to learn that it is lost", Store: "etcd", Package: etcdPackages + " python3-etcd3 python3-tenacity", needs: etcdServer,
		Promise: "A distributed lock. Its TTL is how long it lives without a refresh.", Source: "the documentation of etcd3.Lock",
		file: "etcd3_lock.py", run: python, probe: []string{"-c", "import etcd3"}},
	{Name: "kazoo", Language: "Python", Summary: "kazoo's Lock; a lease is counted from the sending of the last write that was answered", Store: "zookeeper", Package: zookeeperPackages + " python3-kazoo", needs: zookeeperServer,
		Promise: "At any snapshot in time no two clients think that they hold the same lock.", Source: "zookeeper.apache.org, Recipes, Locks",
		file: "kazoo_lock.py", args: []string{"timed"}, run: python, probe: []string{"-c", "import kazoo"}},
	{Name: "kazoo-suspended", Language: "Python", Summary: "kazoo's Lock; a lease ends when kazoo says that the connection is SUSPENDED", Store: "zookeeper", Package: zookeeperPackages + " python3-kazoo", needs: zookeeperServer,
		Promise: "At any snapshot in time no two clients think that they hold the same lock. A client that is SUSPENDED should stop to act on it.", Source: "kazoo.readthedocs.io, Basic Usage, Understanding Kazoo States",
		file: "kazoo_lock.py", args: []string{"suspended"}, run: python, probe: []string{"-c", "import kazoo"}},
	{Name: "kazoo-lost", Language: "Python", Summary: "kazoo's Lock; a lease ends when kazoo says that the session is LOST", Store: "zookeeper", Package: zookeeperPackages + " python3-kazoo", needs: zookeeperServer,
		file: "kazoo_lock.py", args: []string{"lost"}, run: python, probe: []string{"-c", "import kazoo"}},
	{Name: "kazoo-read-write", Language: "Python", Summary: "kazoo's ReadLock and WriteLock; a lease is counted as that of kazoo", Store: "zookeeper", Package: zookeeperPackages + " python3-kazoo", needs: zookeeperServer,
		Promise: "A reader waits for writers only, a writer for everybody.", Source: "the documentation of kazoo.recipe.lock",
		file: "kazoo_lock.py", args: []string{"timed", "read-write"}, run: python, probe: []string{"-c", "import kazoo"}},
	{Name: "kazoo-semaphore", Language: "Python", Summary: "kazoo's Semaphore; a lease is counted as that of kazoo", Store: "zookeeper", Package: zookeeperPackages + " python3-kazoo", needs: zookeeperServer,
		Promise: "At most max_leases holders at a time.", Source: "the documentation of kazoo.recipe.lock.Semaphore",
		file: "kazoo_lock.py", args: []string{"timed", "semaphore"}, run: python, probe: []string{"-c", "import kazoo"}},
	{Name: "tooz-zookeeper", Language: "Python", Summary: "OpenStack's tooz with its ZooKeeper driver; it does not say when a lock is lost", Store: "zookeeper", Package: zookeeperPackages + " python3-tooz python3-kazoo", needs: zookeeperServer,
		Promise: "A lock that is held until it is released, or until the session of its coordinator ends.", Source: "the documentation of tooz.drivers.zookeeper",
		file: "tooz_lock.py", run: python, probe: []string{"-c", "import tooz.drivers.zookeeper"}},
}

// Scenario returns the scenario in YAML that describes the servers of the client's store; nil: it uses masters of Redis.
func (c Client) Scenario() []byte {
	if c.Store == "" {
		return nil
	}
	b, err := services.Files.ReadFile(c.Store + ".yaml")
	if err != nil {
		panic(err) // a test ensures that this never happens
	}
	return b
}

// Needs says what to install, and how to build the client.
func (c Client) Needs() string {
	var all []string
	if c.Package != "" {
		all = append(all, "sudo apt-get install "+c.Package)
	}
	if c.Build != "" {
		all = append(all, "in a checkout of Lockpick "+c.Build)
	}
	return strings.Join(all, "; ")
}

// Skews reports whether the clock shim can change the client's clocks, where the shim can be built.
// It cannot change those of a Go program, which reads clocks without the C library.
func (c Client) Skews() bool { return c.file != "" }

// Named returns the client with a name, and whether it exists.
func Named(name string) (Client, bool) {
	i := slices.IndexFunc(All, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return All[i], true
}

// ErrMissing means that a program or a library that a client needs is not installed.
var ErrMissing = errors.New("not installed")

// Command returns the command that starts the client. If the error wraps ErrMissing, it says what
// to install.
func (c Client) Command() ([]string, error) {
	missing := fmt.Errorf("what the client %s needs is %w: %s", c.Name, ErrMissing, c.Needs())
	for _, name := range c.needs {
		if _, err := os.Stat(name); err != nil {
			if _, err := exec.LookPath(name); err != nil {
				return nil, missing
			}
		}
	}
	if c.file == "" {
		path, err := exec.LookPath(c.program)
		if err != nil {
			return nil, missing
		}
		return append([]string{path}, c.args...), nil
	}
	for _, run := range c.run {
		probe := slices.Concat(run[1:], c.probe)
		if exec.Command(run[0], probe...).Run() != nil {
			continue
		}
		file, err := c.extract()
		if err != nil {
			return nil, fmt.Errorf("the client %s: %w", c.Name, err)
		}
		if c.class == "" {
			return slices.Concat(run, []string{file}, c.args), nil
		}
		if err := compile(run[0], file, c.class); err != nil {
			return nil, fmt.Errorf("the client %s: %w", c.Name, err)
		}
		return slices.Concat(run, []string{"-cp", filepath.Dir(file), c.class}, c.args), nil
	}
	return nil, missing
}

// Installed returns the client's Debian packages with their versions; "" if they are not known.
func (c Client) Installed() string {
	if c.Package == "" {
		return ""
	}
	out, err := exec.Command("dpkg-query", append([]string{"--show", "--showformat", "${Package} ${Version}\n"}, strings.Fields(c.Package)...)...).Output()
	if err != nil {
		return ""
	}
	lines := slices.Collect(strings.Lines(string(out)))
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i]) // a package that others stand for has no version
	}
	return strings.Join(lines, ", ")
}

// Resolve returns the command of the client that a single word names, and any other command
// unchanged. An error that wraps ErrMissing says what is not installed.
func Resolve(command []string) ([]string, error) {
	if !BuiltIn(command) {
		if _, err := exec.LookPath(command[0]); err != nil {
			return nil, fmt.Errorf("the client %q is %w: %w; lockpick list clients has those that come with Lockpick", command[0], ErrMissing, errors.Unwrap(err))
		}
		return command, nil
	}
	c, _ := Named(command[0])
	return c.Command()
}

// BuiltIn reports whether a command is the name of a client that comes with Lockpick.
func BuiltIn(command []string) bool {
	if len(command) != 1 {
		return false
	}
	_, ok := Named(command[0])
	return ok
}

// source returns the client's file.
func (c Client) source() ([]byte, error) {
	if c.Store != "" {
		return services.Files.ReadFile(c.file)
	}
	return files.ReadFile(c.file)
}

// extract writes the client's file into the user's cache, where an interpreter can read it, and
// returns its path.
func (c Client) extract() (path string, err error) {
	b, err := c.source()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	sum := sha256.Sum256(b)
	dir := filepath.Join(cache, "lockpick", "clients", hex.EncodeToString(sum[:6]))
	path = filepath.Join(dir, filepath.Base(c.file))
	if there, err := os.ReadFile(path); err == nil && string(there) == string(b) {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Another process may start the client at this moment.
	return path, wholefile.Replace(path, 0o644, wholefile.Content(b))
}

// compile compiles a file in Java beside it, unless that has been done. The compiler is a module of the
// runtime, so that no JDK is needed.
func compile(java, file, class string) error {
	dir := filepath.Dir(file)
	name := class + ".class"
	if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
		return nil
	}
	// Others may compile it at this moment: each in a folder of its own, and a file appears whole.
	made, err := os.MkdirTemp(dir, "made")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if out, err := exec.Command(java, "--add-modules", "jdk.compiler", "-m", "jdk.compiler/com.sun.tools.javac.Main", "-d", made, file).CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w: %s", filepath.Base(file), err, strings.TrimSpace(string(out)))
	}
	return os.Rename(filepath.Join(made, name), filepath.Join(dir, name))
}
