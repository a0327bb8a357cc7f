/** A sending driver that writes each message into a folder. A real one talks to a vendor: see the guide. */
import { access, constants, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { SendingError, type SendingDriver, type SendingDriverRegistration } from 'mailwright/plugin-api';

export const driver: SendingDriverRegistration = {
  type: 'hello-folder',
  ...{ name: 'Folder', description: 'Writes each message into a folder.' },
  configKeys: ['folder'],
  secretKeys: [],
  validate: ({ folder }) =>
    typeof folder === 'string' && path.isAbsolute(folder) && !folder.includes('\0')
      ? { ok: true, settings: { folder } }
      : { ok: false, errors: { folder: ['The folder must be an absolute path.'] } },
  connect: ({ folder }) => driverOf(String(folder)),
};

function driverOf(folder: string): SendingDriver {
  return {
    capacity: 10,
    async send({ content, messageId, idempotencyKey, mayStillLeave }) {
      if (mayStillLeave && !(await mayStillLeave())) throw new SendingError('unavailable', 'It may not leave.');
      await writeFile(path.join(folder, `${idempotencyKey}.eml`), content).catch((error: unknown) => {
        throw new SendingError('unavailable', `The folder cannot be written to: ${String(error)}`);
      });
      return { runtimeMessageId: messageId, reply: '250 written' };
    },
    test: () =>
      access(folder, constants.W_OK).then(
        () => ({ ok: true }),
        (error: unknown) => ({ ok: false, message: String(error) }),
      ),
    close: async () => undefined,
  };
}
