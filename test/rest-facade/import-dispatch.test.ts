/** Imports that a plugin starts (`dispatch_list_import_job`): uploaded over REST, run by the real queue. */
import { afterEach, expect, test } from 'vitest';
import { dispatchImport } from '../../src/domain/audience/imports/dispatch-import.ts';
import type { Behavior, UploadedImport } from '../../src/plugin-api/index.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { dispatchImportTask, runImportTask } from '../../src/workers/tasks/run-import.ts';
import { startRestApp } from '../support/rest-app.ts';
import { newWorld } from '../support/rest-world.ts';
import { withHooks } from '../support/with-hooks.ts';

const app = await startRestApp({ ROLES: 'web' });
const { token, customerId, listUid } = await newWorld(app, { host: '127.0.0.1', port: 1, encryption: 'none' });

let undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const act of undo) await act();
  undo = [];
});

/** Takes over the start of imports until the test ends. Returns what ends it at once. */
function dispatcher(behavior: Behavior<'dispatch_list_import_job'>): () => void {
  const plugin = withHooks(app.hooks, { boot: (hooks) => hooks.set('dispatch_list_import_job', behavior) });
  const end = () => app.hooks.takeBack(plugin);
  undo.push(end);
  return end;
}

async function work(): Promise<void> {
  const tasks = [dispatchImportTask, runImportTask];
  const worker = await runWorker({ ctx: app.ctx, tasks, concurrency: 2, crontab: [] });
  undo.push(() => worker.stop(1_000));
}

async function upload(name: string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([`email\n${name}@x.com\n`]), 'people.csv');
  const { status, body } = await app.rest(`/lists/${listUid}/import`, { method: 'POST', body: form, token });
  expect(status).toBe(201);
  return (body as { import_uid: string }).import_uid;
}

async function read(uid: string): Promise<{ status: string; added: number }> {
  const { body } = await app.rest(`/lists/${listUid}/imports/${uid}`, { token });
  return (body as { import: { status: string; added: number } }).import;
}

const untilDone = (uid: string) => expect.poll(() => read(uid)).toMatchObject({ status: 'done', added: 1 });

test('a plugin gets the import, and it runs when the plugin says so', async () => {
  const taken = Promise.withResolvers<UploadedImport>();
  dispatcher((found) => taken.resolve(found));
  const uid = await upload('held');
  await work();
  const found = await taken.promise;
  expect(found).toEqual({ listUid, importUid: uid, run: expect.any(Function) });
  await expect.poll(() => app.logged.some((line) => line.includes('import.dispatched'))).toBe(true);
  expect(await read(uid)).toMatchObject({ status: 'queued', added: 0 });
  await Promise.all([found.run(), found.run()]);
  await untilDone(uid);
  await found.run();
  await untilDone(uid);
});

test('one that fails is named in the log and called again', async () => {
  let calls = 0;
  dispatcher(async ({ run }) => {
    calls += 1;
    if (calls === 1) throw new Error('the scanner is away');
    await run();
  });
  await work();
  const uid = await upload('again');
  await untilDone(uid);
  expect(calls).toBe(2);
  const failed = app.logged.find((line) => line.includes('the scanner is away'));
  expect(failed).toMatch(/job\.failed.*Plugin \\"test\/plugin-\d+\\" failed to perform/);
});

test('after the last try the import is failed and says so', async () => {
  dispatcher(() => Promise.reject(new Error('no')));
  const uid = await upload('never');
  const dispatched = dispatchImport(app.ctx, { customerId, importUid: uid }, { isLastTry: true });
  await expect(dispatched).rejects.toMatchObject({ code: 'BEHAVIOR_FAILED' });
  expect(await read(uid)).toMatchObject({ status: 'failed' });
});

test('an import that the plugin has started goes on, also when the plugin fails in the last try', async () => {
  dispatcher(async ({ run }) => {
    await run();
    throw new Error('too late');
  });
  const uid = await upload('started');
  const dispatched = dispatchImport(app.ctx, { customerId, importUid: uid }, { isLastTry: true });
  await expect(dispatched).rejects.toMatchObject({ code: 'BEHAVIOR_FAILED' });
  await work();
  await untilDone(uid);
});

test('when the plugin is gone meanwhile, the product starts the import', async () => {
  const end = dispatcher(() => Promise.reject(new Error('not called')));
  const uid = await upload('gone');
  end();
  await work();
  await untilDone(uid);
});

test('an import that was cancelled meanwhile is not given to the plugin', async () => {
  let calls = 0;
  dispatcher(() => void (calls += 1));
  const uid = await upload('cancelled');
  await app.rest(`/lists/${listUid}/imports/${uid}`, { method: 'DELETE', token });
  await dispatchImport(app.ctx, { customerId, importUid: uid }, { isLastTry: false });
  expect([calls, (await read(uid)).status]).toEqual([0, 'cancelled']);
});
