/**
 * The kind of the calling program, by its User-Agent. Only names of this file are returned, never what was sent, because the
 * result may be in logs and tables.
 */

/** The first match wins: most browsers also name their ancestors. */
const PROGRAMS: readonly (readonly [string, RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|Chromium)\//],
  ['Safari', /\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//],
  ['curl', /^curl\//i],
  ['Wget', /^Wget/i],
  ['Postman', /^PostmanRuntime\//],
  ['Python', /^(?:python|aiohttp)/i],
  ['PHP', /^(?:php|guzzlehttp|symfony)/i],
  ['Go', /^Go-http-client\//],
  ['Java', /^(?:java|okhttp|apache-httpclient)/i],
  ['Ruby', /^(?:ruby|faraday)/i],
  ['Node.js', /^(?:node|undici|axios|got|node-fetch)/i],
  ['.NET', /^(?:\.NET|RestSharp)/i],
];
const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad|iPod)\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
];
/** Longer ones are invented. */
const USER_AGENT_LENGTH_MAX = 500;

/** `Firefox on Linux`, `curl`, `another program`; null: none was sent. */
export function programOf(userAgent: string | null | undefined): string | null {
  const said = userAgent?.slice(0, USER_AGENT_LENGTH_MAX).trim();
  if (!said) return null;
  const program = nameIn(PROGRAMS, said) ?? 'another program';
  const system = nameIn(SYSTEMS, said);
  return system === undefined ? program : `${program} on ${system}`;
}

function nameIn(names: readonly (readonly [string, RegExp])[], said: string): string | undefined {
  return names.find(([, pattern]) => pattern.test(said))?.[0];
}
