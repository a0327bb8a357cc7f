/** Archives of small plugins, and a web server that answers with them. */
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { afterFile } from './after-file.ts';
import { tgzOf, zipOf, type Packed } from './archives.ts';
import { manifestOf, plainCode } from './plugin-folder.ts';

export interface PluginFiles {
  readonly version?: string;
  readonly label?: string;
  readonly code?: string;
  readonly manifest?: object;
  readonly migrations?: Readonly<Record<string, string>>;
  readonly more?: readonly Packed[];
  readonly format?: 'zip' | 'tgz';
  /** The folder in the archive that holds everything. */
  readonly top?: string;
}

/** A plugin whose only effect is an item of the menu. */
export function pluginArchive(plugin: string, files: PluginFiles = {}): Buffer {
  const { version = '1.0.0', label = `${plugin} ${version}`, format = 'tgz', top = 'package/', more = [] } = files;
  const { code = plainCode(plugin, label), migrations = {} } = files;
  const asks = Object.keys(migrations).length > 0 ? { tables: true } : {};
  const { manifest = manifestOf(plugin, version, asks) } = files;
  const entries: Packed[] = [
    { name: 'package.json', content: JSON.stringify(manifest) },
    { name: 'index.ts', content: code },
    ...Object.entries(migrations).map(([name, content]) => ({ name: `database/migrations/${name}`, content })),
  ];
  const packed = entries.map((entry) => ({ ...entry, name: top + entry.name }));
  return (format === 'zip' ? zipOf : tgzOf)([...packed, ...more]);
}

export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** A key pair, and what it signs. */
export function newSigner() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  return { key: raw.toString('base64'), sign: (bytes: Buffer) => sign(null, bytes, privateKey).toString('base64') };
}

/** A web server on this machine; answers its address. */
export async function startWebServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}
