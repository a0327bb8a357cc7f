/** Exchanges what differs from run to run, and what nobody should read, for fixed values: for recorded examples. */

const DATE = '2026-01-31';
const TIME = '08:00:00';
const BASE_URL = 'https://mail.example.com';
const UID_START = 0x65f0c0de00000;
/** Time of expiry and signature of a checkout link. */
const CHECKOUT_SIGNATURE = 'tpp9c0.u27WUFdP59sFvSz0EIBeqw';
/** The beginning of the code of a click: it is about the ids in the link. */
const CLICK_SIGNATURE = 'kre7Xb-IZc9VuwC1';

/** Numbers that differ from run to run, by the name of their field. */
const FIXED_NUMBERS: Readonly<Record<string, number>> = {
  ...{ port: 587, duration_ms: 120 },
  expiresAt: Date.parse(`${DATE}T${TIME}Z`) / 1_000,
};

/** Scrubs any number of values; the same thing is the same in all of them. */
export function scrubber(baseUrl: string): (value: unknown) => unknown {
  const uids = numbered((no) => (UID_START + no).toString(16));
  const people = numbered((no) => `${['ann', 'ben', 'cleo', 'dan', 'eve'][no - 1] ?? `person${no}`}@person.example`);
  const text = (given: string) =>
    given
      .replaceAll(/(?<=\bp=)[A-Za-z0-9+/]{40,}=*|^[A-Za-z0-9+/]{100,}=*$/g, '<PUBLIC_KEY>')
      .replaceAll(/\bmw[0-9a-f]{10}\b/g, 'mw0123456789')
      .replaceAll(/^<!doctype html>[^]{2000,}$/g, '<!doctype html>…')
      .replaceAll(baseUrl, BASE_URL)
      .replaceAll(/http:\/\/127\.0\.0\.1(:\d+)?/g, 'https://files.example.com')
      .replaceAll(/(?<=127\.0\.0\.1)%3A\d+/g, '%3A8025')
      .replaceAll('127.0.0.1', 'smtp.example.com')
      .replaceAll(/\b(?:user-)?[0-9a-f]{13}@[a-z]+\.example\b/g, people)
      .replaceAll(/(?<=\/preview\/)[\w-]{100,}/g, '<PREVIEW>')
      .replaceAll(/\b\d+(?= of \d+ connections)/g, '6')
      .replaceAll(/^1[789]\d{8}$/g, String(FIXED_NUMBERS['expiresAt']))
      .replaceAll(/\bwhsec_[0-9A-Za-z+/]{43}=/g, 'whsec_<SECRET>')
      .replaceAll(/\bv1,[0-9A-Za-z+/]{43}=/g, 'v1,<SIGNATURE>')
      .replaceAll(/(?<=\/c\/[\w-]{43}\.)[\w-]{16}/g, CLICK_SIGNATURE)
      .replaceAll(/(?<![0-9A-Za-z])[0-9A-Za-z]{60}(?![0-9A-Za-z])/g, '<API_TOKEN>')
      .replaceAll(/(?<![0-9A-Za-z_-])[0-9A-Za-z_-]{43}(?![0-9A-Za-z_-])/g, '<TOKEN>')
      .replaceAll(/^(\d{6}|[0-9a-zA-Z]{4}-[0-9a-zA-Z]{4}-[0-9a-zA-Z]{2,4})$/g, '<CODE>')
      .replaceAll(/(?<=\/checkout\/offline\/[0-9a-f]{13}\.)[0-9a-z]+\.[\w-]{22}(?![\w-])/g, CHECKOUT_SIGNATURE)
      .replaceAll(/\b[A-Z2-7]{32}\b/g, 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP')
      .replaceAll(/\b[0-9a-f]{64}\b/g, '<DIGEST>')
      .replaceAll(/\b[0-9a-f]{32}\b/g, '0123456789abcdef0123456789abcdef')
      .replaceAll(/(?<![0-9a-z])[0-9a-f]{13}(?![0-9a-z])/gi, uids)
      .replaceAll(
        /\b20[2-9]\d-\d\d-\d\d( |T)\d\d:\d\d:\d\d(\.\d+)?/g,
        (_, between: string) => `${DATE}${between}${TIME}`,
      );
  const scrub = (value: unknown, name: string): unknown => {
    if (typeof value === 'string') return /(^|_)id$/.test(name) && /^\d+$/.test(value) ? '1' : text(value);
    if (typeof value === 'number') return /(^|_)id$/.test(name) ? 1 : (FIXED_NUMBERS[name] ?? value);
    if (Array.isArray(value)) return value.map((item) => scrub(item, name));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), scrub(inner, key)]));
  };
  return (value) => scrub(value, '');
}

/** The first thing met is number 1, the second number 2. */
function numbered(write: (no: number) => string): (found: string) => string {
  const known = new Map<string, string>();
  return (found) => {
    const written = known.get(found) ?? write(known.size + 1);
    known.set(found, written);
    return written;
  };
}
