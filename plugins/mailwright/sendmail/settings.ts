/** The settings of a sending server that is a program of this machine. Which programs are allowed is the host's check. */
import path from 'node:path';
import type { FieldErrors, SettingsCheck, SettingsInput } from '../../../src/plugin-api/index.ts';

/** In the order of the form. `connections` is the number of processes at once: the host reads it under this name. */
export const SETTINGS = ['path', 'connections'] as const;
/** Where a distribution puts it (Filesystem Hierarchy Standard 3.0, 4.10.2). */
const DEFAULT_PATH = '/usr/sbin/sendmail';
/** The kernel's own limit (PATH_MAX). */
const PATH_LENGTH_MAX = 4_096;
/** Each is a process that needs memory and writes to the disk of the mail queue. */
const CONNECTIONS_MAX = 100;
// oxlint-disable-next-line no-control-regex -- NUL ends a path, and none of these is in the name of a program
const CONTROL = /[\u0000-\u001f\u007f]/;
const WHOLE_NUMBER = /^\d{1,9}$/;

/** Checks given settings; every fault is named by its key. Unknown keys are dropped. */
export function validateSettings(input: SettingsInput): SettingsCheck {
  const program = isBlank(input['path']) ? DEFAULT_PATH : input['path'];
  const connections = isBlank(input['connections']) ? undefined : numberOf(input['connections']);
  const errors: FieldErrors = {
    ...(isPath(program)
      ? {}
      : {
          path: [
            `The path must be the absolute path of a program, such as ${DEFAULT_PATH}, at most ${PATH_LENGTH_MAX} characters.`,
          ],
        }),
    ...(connections === null
      ? { connections: [`The number of processes must be a whole number from 1 to ${CONNECTIONS_MAX}.`] }
      : {}),
  };
  if (!isPath(program) || connections === null) return { ok: false, errors };
  return { ok: true, settings: { path: program, ...(connections === undefined ? {} : { connections }) } };
}

function isPath(program: unknown): program is string {
  if (typeof program !== 'string' || program.length > PATH_LENGTH_MAX) return false;
  return !CONTROL.test(program) && path.posix.isAbsolute(program);
}

/** Null: it is none that is allowed. */
function numberOf(value: unknown): number | null {
  if (typeof value !== 'number' && !(typeof value === 'string' && WHOLE_NUMBER.test(value))) return null;
  const number = Number(value);
  return Number.isInteger(number) && number >= 1 && number <= CONNECTIONS_MAX ? number : null;
}

/** A form sends `null` or nothing for what is left empty. */
function isBlank(value: unknown): value is null | undefined | '' {
  return value === null || value === undefined || value === '';
}
