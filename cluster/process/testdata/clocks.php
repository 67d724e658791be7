<?php // Waits, or says what the clocks show, as TestProgramsGoByTheirClocks tells it.
$pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
echo "ready\n";
while (($line = fgets(STDIN)) !== false) {
	$word = explode(' ', trim($line));
	$s = (float) ($word[1] ?? 0);
	switch ($word[0]) {
	case 'clock': printf("%.6f %.6f\n", hrtime(true) / 1e9, microtime(true)); continue 2;
	case 'sleep': sleep((int) ceil($s)); break;
	case 'usleep': usleep((int) round($s * 1e6)); break;
	case 'nanosleep': time_nanosleep((int) $s, (int) (($s - (int) $s) * 1e9)); break;
	case 'until': time_sleep_until(microtime(true) + $s); break;
	case 'select':
		$read = [$pair[0]];
		$none = null;
		stream_select($read, $none, $none, (int) $s, (int) (($s - (int) $s) * 1e6));
		break;
	}
	echo "ok\n";
}
