/** Headers of a webhook's configuration may be credentials: whoever reads a webhook or its log sees their names only. */
import { z } from 'zod';
import { ValidationError } from '../../lib/errors.ts';

/** Stands for a value that is not shown. */
export const HIDDEN = '(hidden)';
const SHOWN = 'content-type';

const headersShape = z.record(z.string(), z.string());
type Headers = Readonly<Record<string, string>>;

/** Headers of the stored column. */
export function parseHeaders(stored: unknown): Headers {
  return headersShape.parse(stored);
}

/** The headers with their values hidden, besides that of `Content-Type`. */
export function hideHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, name.toLowerCase() === SHOWN ? value : HIDDEN]),
  );
}

/**
 * Headers that come back as they were shown: a hidden value means the stored one of this name. Throws ValidationError when there is
 * none.
 */
export function restoreHidden(given: Headers, stored: Headers): Record<string, string> {
  const values = new Map(Object.entries(stored).map(([name, value]) => [name.toLowerCase(), value]));
  const isUnknown = ([name, value]: [string, string]) => value === HIDDEN && !values.has(name.toLowerCase());
  const unknown = Object.entries(given).filter(isUnknown);
  if (unknown.length > 0)
    throw new ValidationError(
      Object.fromEntries(
        unknown.map(([name]) => [
          `headers.${name}`,
          [`"${HIDDEN}" keeps the value that a header has, and this webhook has no header ${name}: give its value.`],
        ]),
      ),
    );
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      value === HIDDEN ? (values.get(name.toLowerCase()) ?? value) : value,
    ]),
  );
}

/**
 * For a webhook that is led to another server: whoever does so may not know these values, and that server must not get them by that.
 * Throws ValidationError when one is hidden.
 */
export function refuseHidden(given: Headers): void {
  const hidden = Object.entries(given).filter(([, value]) => value === HIDDEN);
  if (hidden.length === 0) return;
  const names = hidden.map(([name]) => name).join(', ');
  throw new ValidationError({
    headers: [
      `The url leads to another server, and hidden values are not sent there: give the values of ${names} again, or leave them out.`,
    ],
  });
}
