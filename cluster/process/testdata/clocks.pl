# Waits, or says what the clocks show, as TestProgramsGoByTheirClocks tells it.
use strict;
use warnings;
use POSIX qw(ceil);
use Time::HiRes;

$| = 1;
print "ready\n";
while (<STDIN>) {
	my ($how, $s) = split;
	if ($how eq 'clock') {
		printf "%.6f %.6f\n", Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()), Time::HiRes::time();
		next;
	}
	sleep ceil($s) if $how eq 'sleep';
	Time::HiRes::sleep($s) if $how eq 'hires';
	select undef, undef, undef, $s if $how eq 'select';
	print "ok\n";
}
