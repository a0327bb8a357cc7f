/** What stands behind `http://` or `https://` must begin a host: browsers read `https:///offer` as the host `offer`. */
const WITH_HOST = /^https?:\/\/[^/\\?#]/i;

/** An address of the web as it may stand in a header; empty: it is none. */
export function httpAddress(text: string): string {
  return WITH_HOST.test(text) ? (URL.parse(text)?.href ?? '') : '';
}
