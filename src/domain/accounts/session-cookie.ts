/**
 * The cookie of a session. It is the browser's and nobody else's: no script reads it, it goes to this very host only
 * (`__Host-`, RFC 6265bis 4.1.3.2), and not with requests that other sites begin, but for following a link. The server
 * decides when the session ends, not the cookie.
 */

/** As long as browsers keep any cookie: 400 days. */
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

/** The `Set-Cookie` that takes the cookie away. */
export function noSessionCookie(baseUrl: string): string {
  return `${sessionCookieName(baseUrl)}=; Max-Age=0${attributes(baseUrl)}`;
}

/** The headers that matter, as they came. */
export interface BrowserHeaders {
  readonly cookie?: string | undefined;
  readonly origin?: string | undefined;
  readonly host?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
  readonly 'sec-fetch-mode'?: string | string[] | undefined;
  readonly 'sec-fetch-dest'?: string | string[] | undefined;
}

/**
 * The session of a request that one of our own pages made; undefined for every other request. The proof is what pages
 * cannot forge: the browser's word that the request is of the same origin, or an Origin that is ours to the letter,
 * scheme included. A sibling subdomain is another origin; an old browser that says neither is a stranger.
 */
export function sessionOf(headers: BrowserHeaders, baseUrl: string): string | undefined {
  return isFromOwnPage(headers, baseUrl) ? sessionIn(headers.cookie, baseUrl) : undefined;
}

/**
 * The session of a request that only shows a page: also where somebody types the address or follows a link from
 * elsewhere. What other sites load into their own pages (a picture, a frame, a script) has no session. Only for GET and HEAD
 * that change nothing.
 */
export function sessionForReading(headers: BrowserHeaders, baseUrl: string): string | undefined {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest } = headers;
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  const isLink = mode === 'navigate' && dest === 'document';
  return isOwn || isLink ? sessionIn(headers.cookie, baseUrl) : undefined;
}

function isFromOwnPage(headers: BrowserHeaders, baseUrl: string): boolean {
  const { origin, host } = headers;
  // A form of a page that tells nobody where it is (Referrer-Policy) comes with the Origin `null`.
  const isNamed = origin !== undefined && origin !== 'null';
  const own = new URL(baseUrl);
  // Behind a proxy the host may be another name of ours; never another scheme.
  if (isNamed && origin !== own.origin && origin !== `${own.protocol}//${host}`) return false;
  const site = headers['sec-fetch-site'];
  return site === undefined ? isNamed : site === 'same-origin';
}

/** Sent twice it is none: one of the two is somebody's trick. */
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
