/**
 * The cookie of a session. No script can read it, it is sent to this host only (`__Host-`, RFC 6265bis 4.1.3.2), and not with
 * requests from other sites, except when a link is followed. The server decides when the session ends, not the cookie.
 */

/** The longest time for which browsers keep a cookie: 400 days. */
const MAX_AGE_SECONDS = 400 * 86_400;
const VALUE_PATTERN = /^[A-Za-z0-9]{60}$/;

/** The cookie's name; without https there is neither `Secure` nor the prefix that demands it. */
function sessionCookieName(baseUrl: string): string {
  return isSecure(baseUrl) ? '__Host-mailwright_session' : 'mailwright_session';
}

/** The `Set-Cookie` of a session. */
export function sessionCookie(baseUrl: string, session: string): string {
  return `${sessionCookieName(baseUrl)}=${session}; Max-Age=${MAX_AGE_SECONDS}${attributes(baseUrl)}`;
}

/** The `Set-Cookie` that deletes the cookie. */
export function noSessionCookie(baseUrl: string): string {
  return `${sessionCookieName(baseUrl)}=; Max-Age=0${attributes(baseUrl)}`;
}

/** The relevant headers of a request. */
export interface BrowserHeaders {
  readonly cookie?: string | undefined;
  readonly origin?: string | undefined;
  readonly host?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
  readonly 'sec-fetch-mode'?: string | string[] | undefined;
  readonly 'sec-fetch-dest'?: string | string[] | undefined;
}

/**
 * The session of a request from one of our own pages; undefined for every other request. The proof is what pages cannot forge:
 * the browser's statement that the request is of the same origin, or exactly our Origin including the scheme. A sibling subdomain
 * is another origin; an old browser that sends neither is a stranger.
 */
export function sessionOf(headers: BrowserHeaders, baseUrl: string): string | undefined {
  return isFromOwnPage(headers, baseUrl) ? sessionIn(headers.cookie, baseUrl) : undefined;
}

/**
 * The session of a request that only shows a page: also when a person types the address or follows a link from another site. What
 * other sites load into their own pages (a picture, a frame, a script) has no session. Only for GET and HEAD that change nothing.
 */
export function sessionForReading(headers: BrowserHeaders, baseUrl: string): string | undefined {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = headers;
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  const isLink = mode === 'navigate' && dest === 'document';
  return isOwn || isLink ? sessionIn(headers.cookie, baseUrl) : undefined;
}

function isFromOwnPage(headers: BrowserHeaders, baseUrl: string): boolean {
  const { origin, host } = headers;
  // A form of a page with `Referrer-Policy: no-referrer` sends the Origin `null`.
  const isNamed = origin !== undefined && origin !== 'null';
  const own = new URL(baseUrl);
  // Behind a proxy the host may be another name of ours; never another scheme.
  if (isNamed && origin !== own.origin && origin !== `${own.protocol}//${host}`) return false;
  const site = headers['sec-fetch-site'];
  return site === undefined ? isNamed : site === 'same-origin';
}

/** Two cookies of this name count as none: one of them may be an attacker's. */
function sessionIn(cookies: string | undefined, baseUrl: string): string | undefined {
  const prefix = `${sessionCookieName(baseUrl)}=`;
  const found = (cookies ?? '').split(';').flatMap((one) => {
    const cookie = one.trim();
    return cookie.startsWith(prefix) ? [cookie.slice(prefix.length)] : [];
  });
  const [value] = found;
  return found.length === 1 && value !== undefined && VALUE_PATTERN.test(value) ? value : undefined;
}

function attributes(baseUrl: string): string {
  return `; Path=/; HttpOnly; SameSite=Lax${isSecure(baseUrl) ? '; Secure' : ''}`;
}

function isSecure(baseUrl: string): boolean {
  return baseUrl.startsWith('https:');
}
