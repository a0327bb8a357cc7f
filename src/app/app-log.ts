/** The program's log, as the settings want it. */
import type { Settings } from '../config/settings.ts';
import { createLog, type Log } from '../lib/log.ts';

/** `auto` is readable on a terminal and JSON everywhere else. */
export function createAppLog({
  LOG_LEVEL: level,
  LOG_FORMAT: format,
}: Pick<Settings, 'LOG_LEVEL' | 'LOG_FORMAT'>): Log {
  if (format !== 'auto') return createLog({ level, format });
  return createLog({ level, format: process.stderr.isTTY ? 'pretty' : 'json' });
}
