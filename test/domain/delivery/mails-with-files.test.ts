/** Mails with files are large: few at once in a process, and of a customer one, which holds up no other customer. */
import { expect, it } from 'vitest';
import { MailsWithFiles } from '../../../src/domain/delivery/messages/mails-with-files.ts';

it('two go at once, of a customer one, and a failure frees the place', async () => {
  const mails = new MailsWithFiles();
  const log: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const run = (customerId: bigint, name: string) => {
    const gate = Promise.withResolvers<void>();
    gates.set(name, gate);
    return mails.run(customerId, async () => {
      log.push(name);
      await gate.promise;
    });
  };
  const [first, second] = [run(1n, 'a1'), run(1n, 'a2')];
  const others = [run(2n, 'b1'), run(3n, 'c1')];
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  await settled();
  expect(log).toEqual(['a1', 'b1']);
  gates.get('a1')?.reject(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  await settled();
  expect(log).toEqual(['a1', 'b1', 'a2']);
  for (const gate of gates.values()) gate.resolve();
  await Promise.all([second, ...others]);
  expect(log).toEqual(['a1', 'b1', 'a2', 'c1']);
});
