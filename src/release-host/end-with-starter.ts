/**
 * Loaded into a process that prepares a version: when the process that has started it is gone, also after kill -9, its whole group ends. Else
 * it would go on writing into a folder that the next preparation removes.
 */
process.stdin.on('close', () => process.kill(-process.pid, 'SIGKILL')).resume();
// It does not keep the process running.
if ('unref' in process.stdin && typeof process.stdin.unref === 'function') process.stdin.unref();
