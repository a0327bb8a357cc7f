/** Hosts as manifests of plugins name them: `api.example.com`, `*.example.com`, `api.example.com:8443`. */

/** Whether one of the entries means the host of `url`. Without a port an entry means 80 and 443. */
export function namesHost(entries: readonly string[], url: URL): boolean {
  // A name may end with a dot, which means the same host.
  const host = url.hostname.replace(/\.$/, '');
  const { port } = url;
  const isUsual = port === '' || port === '80' || port === '443';
  return entries.some((entry) => {
    const [name = '', ofEntry = ''] = entry.split(':');
    const isHost = name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
    return isHost && (ofEntry === port || (ofEntry === '' && isUsual));
  });
}
