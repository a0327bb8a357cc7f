/** Installing plugins (specification 4.11, decision D39): from an address or a file, its progress, and going back. */
import { z } from 'zod';
import type { RestPluginPackageFragment } from '../../generated/operations.ts';
import { created, done, ok } from '../answer.ts';
import { customEndpoint, endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import type { IncomingFile } from '../multipart.ts';
import type { Call } from '../row.ts';
import { actionShape, answersBody, answersCreated, timeShape } from '../shapes.ts';
import { sendInPieces } from '../shared/send-in-pieces.ts';
import { restTime } from '../timestamps.ts';
import { keyOf, pluginShape, presentPlugin } from './present.ts';

const packageShape = z
  .strictObject({
    uid: z.string(),
    state: z.enum(['uploading', 'downloading', 'checking', 'ready', 'failed', 'cancelled']),
    reason: z.string().nullable().meta({ description: 'Why it failed.' }),
    url: z.string().nullable().meta({ description: 'Where it was downloaded; null: it was uploaded.' }),
    size_bytes: z.number().meta({ description: 'Bytes that have come so far.' }),
    plugin: z.string().nullable().meta({ description: '`vendor/name`; null: it is not ready.' }),
    version: z.string().nullable(),
    place: z.enum(['current', 'waiting', 'former']).nullable().meta({
      description:
        '`current`: the plugin uses it; `waiting`: it is used from the next activation on; `former`: it was used before.',
    }),
    created_at: timeShape,
    updated_at: timeShape,
  })
  .meta({ id: 'PluginPackage' });

export const pluginPackageRows = [
  customEndpoint({
    method: 'POST',
    path: '/plugins/install',
    access: 'admin',
    summary: 'Installs a plugin from an address or a file.',
    details:
      'Send `url` and `sha256`, or the file in a multipart form: a zip or tgz of at most 50 MB. An address must be public; it is downloaded within 60 seconds, without redirects. `signature` (Ed25519, in base64) is required when the setting PLUGIN_KEYS is set. Before a file send the other parameters. The plugin is inactive then; of an active plugin the new version waits for an activation.',
    answers: answersCreated(actionShape({ package: packageShape })),
    takesFile: true,
    fieldName: (path) => (path === 'sha256' ? path : undefined),
    actsOutside: true,
    operations: [
      'InstallPlugin',
      'StartPluginUpload',
      'AppendToPluginUpload',
      'FinishPluginUpload',
      'CancelPluginPackage',
    ],
    async run(call) {
      const { upload, input } = call;
      const url = input.text('url') || undefined;
      const proof = { sha256: input.text('sha256') || undefined, signature: input.text('signature') || undefined };
      if (upload && url !== undefined) input.refuse('url', 'Send an address or a file, not both.');
      if (!upload && url === undefined) input.refuse('url', 'Send the address of a plugin, or a file.');
      input.check();
      const installed = upload
        ? await installFile(call, upload.file, proof)
        : (await call.execute('InstallPlugin', { input: { url: url ?? '', ...proof } })).installPlugin;
      return created('The plugin was installed', { package: presentPackage(installed) });
    },
  }),
  endpoint({
    method: 'GET',
    path: '/plugins/packages',
    access: 'admin',
    summary: 'Lists plugins that were installed or are being installed, the latest first.',
    answers: answersBody(z.array(packageShape)),
    operation: 'PluginPackages',
    variables: () => ({}),
    present: ({ pluginPackages }) => ok(pluginPackages.nodes.map(presentPackage)),
  }),
  endpoint({
    method: 'GET',
    path: '/plugins/packages/:uid',
    access: 'admin',
    summary: 'Shows how far an installation is.',
    answers: answersBody(z.strictObject({ package: packageShape })),
    operation: 'PluginPackage',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ pluginPackage }) => ok({ package: presentPackage(pluginPackage) }),
  }),
  endpoint({
    method: 'POST',
    path: '/plugins/packages/:uid/cancel',
    access: 'admin',
    summary: 'Cancels an installation that is under way.',
    answers: answersBody(actionShape({ package: packageShape })),
    operation: 'CancelPluginPackage',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ cancelPluginPackage }) =>
      done('The installation was cancelled', { package: presentPackage(cancelPluginPackage) }),
  }),
  endpoint({
    method: 'POST',
    path: '/plugins/:vendor/:name/rollback',
    access: 'admin',
    summary: 'Goes back to the installed version that was used before.',
    details: 'An active plugin is activated with it. Migrations of the newer version are not taken back.',
    answers: answersBody(actionShape({ plugin: pluginShape })),
    operation: 'RollBackPlugin',
    variables: (input: Input) => ({ input: keyOf(input) }),
    present: ({ rollBackPlugin }) =>
      done('The plugin uses its former version', { plugin: presentPlugin(rollBackPlugin) }),
  }),
];

interface Proof {
  readonly sha256: string | undefined;
  readonly signature: string | undefined;
}

/** Nothing is left of an upload that breaks off. */
async function installFile(call: Call, file: IncomingFile, proof: Proof): Promise<RestPluginPackageFragment> {
  const { uid } = (await call.execute('StartPluginUpload', { input: proof })).startPluginUpload;
  try {
    await sendInPieces(file.content, (bytes, no) =>
      call.execute('AppendToPluginUpload', { input: { uid, no, bytes } }),
    );
    return (await call.execute('FinishPluginUpload', { uid })).finishPluginUpload;
  } catch (error) {
    await call.execute('CancelPluginPackage', { uid }).catch(() => undefined);
    throw error;
  }
}

function presentPackage(made: RestPluginPackageFragment) {
  const { vendor, name } = made;
  return {
    uid: made.uid,
    state: made.state.toLowerCase(),
    reason: made.reason ?? null,
    url: made.url ?? null,
    size_bytes: Number(made.sizeBytes),
    plugin: vendor && name ? `${vendor}/${name}` : null,
    version: made.version ?? null,
    place: made.place?.toLowerCase() ?? null,
    created_at: restTime(made.createdAt),
    updated_at: restTime(made.updatedAt),
  };
}
