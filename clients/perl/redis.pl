# A textbook lock over Redis.pm, on the first master: SET NX PX, and compare-and-delete.
use strict;
use warnings;
use JSON::PP;
use Redis;
use Time::HiRes qw(sleep time);

my $COMPARE_AND_DELETE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end';
my ($server, $redis, $ttl, $attempt) = ('', undef, 0, 0);
$| = 1;
$SIG{PIPE} = 'IGNORE'; # a write to a lost connection fails, and does not end the program

sub answer { print encode_json({@_}), "\n" }
sub connected { $redis //= Redis->new(server => $server, cnx_timeout => $ttl / 1000, read_timeout => $ttl / 1000) }

while (my $line = <STDIN>) {
    my $request = decode_json($line);
    my $op = $request->{op};
    eval {
        if ($op eq 'init') {
            ($server, $ttl) = ($request->{masters}[0], $request->{ttl_ms});
            connected();
            answer(type => 'ok', masters => 1, library => "Redis.pm $Redis::VERSION");
        } elsif ($op eq 'acquire') {
            my ($token, $end, $ok) = (join('-', $$, time, ++$attempt), time + $request->{within_ms} / 1000);
            sleep 0.05 until $ok = connected()->set($request->{key}, $token, 'NX', 'PX', int $ttl) or time > $end;
            answer($ok ? (type => 'ok', token => $token) : (type => 'fail', error => 'not acquired in time'));
        } elsif ($op eq 'release') {
            my $deleted = connected()->eval($COMPARE_AND_DELETE, 1, $request->{key}, $request->{token});
            answer($deleted ? (type => 'ok') : (type => 'fail', error => 'not held any more'));
        }
        1;
    } or do { # a timeout, a lost connection: it may have happened
        undef $redis;
        answer(type => 'info', error => "$@");
    };
    last if $op eq 'exit';
}
