/** The program's log, as the settings want it. */
import type { Settings } from '../config/settings.ts';
import { createLog, type Log, type LogFormat } from '../lib/log.ts';

type LogSettings = Pick<Settings, 'LOG_LEVEL' | 'LOG_FORMAT'>;

export function createAppLog(settings: LogSettings): Log {
  return createLog({ level: settings.LOG_LEVEL, format: formatOf(settings) });
}

/** `auto` is readable on a terminal and JSON everywhere else. */
export function formatOf({ LOG_FORMAT: format }: Pick<LogSettings, 'LOG_FORMAT'>): LogFormat {
  if (format !== 'auto') return format;
  return process.stderr.isTTY ? 'pretty' : 'json';
}
