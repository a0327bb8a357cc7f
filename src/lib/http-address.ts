/** After `http://` or `https://` a host must follow: browsers read `https:///offer` as the host `offer`. */
const WITH_HOST = /^https?:\/\/[^/\\?#]/i;

/** A web address as a header may contain it; empty: it is none. */
export function httpAddress(text: string): string {
  return WITH_HOST.test(text) ? (URL.parse(text)?.href ?? '') : '';
}
