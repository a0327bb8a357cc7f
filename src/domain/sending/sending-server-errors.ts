/** The errors of sending servers, by code. */
import {
  ForeignResourceError,
  NotFoundError,
  ValidationError,
  WrongStateError,
  type FieldErrors,
} from '../../lib/errors.ts';
import { SERVERS_PER_CUSTOMER_MAX } from './sending-server.ts';

const NO_SERVER = ['SENDING_SERVER_NOT_FOUND', 'No sending server has this uid.'] as const;
export const serverNotFound = () => new NotFoundError(...NO_SERVER);
export const foreignServer = () => new ForeignResourceError(...NO_SERVER);

export const unknownType = (types: readonly string[]) =>
  new ValidationError(
    { type: [`There is no driver of this type. Installed: ${types.join(', ') || 'none'}.`] },
    'SENDING_SERVER_TYPE_UNKNOWN',
  );

export const systemOnly = (type: string) =>
  new ValidationError(
    {
      type: [
        `Servers of type ${type} run a program of this machine: only an administrator may have them, and only with a token of all rights.`,
      ],
    },
    'SENDING_SERVER_SYSTEM_ONLY',
  );

export const typeFixed = () =>
  new ValidationError(
    { type: ['The type of a sending server cannot be changed: create another one.'] },
    'SENDING_SERVER_TYPE_FIXED',
  );

export const changedMeanwhile = () =>
  new WrongStateError(
    'SENDING_SERVER_CHANGED',
    'Somebody else changed the settings of this server while yours were tried. Nothing of yours was stored: read the server, and send your changes again.',
  );

export const wrongSettings = (fields: FieldErrors) => new ValidationError(fields, 'SENDING_SERVER_SETTINGS_INVALID');

/** The settings are valid, but the server could not be used with them. */
export const connectionFailed = (reason: string) =>
  new ValidationError(
    { connection: [reason] },
    'SENDING_SERVER_CONNECTION_FAILED',
    'The connection to the sending server failed.',
  );

export const tooManyServers = () =>
  new ValidationError(
    { name: [`A customer may not have more than ${SERVERS_PER_CUSTOMER_MAX} sending servers.`] },
    'TOO_MANY_SENDING_SERVERS',
  );

export const serverInUse = (campaigns: readonly string[]) =>
  new WrongStateError(
    'SENDING_SERVER_IN_USE',
    `Campaigns that are not finished use this server: ${campaigns.join(', ')}. Finish them, or choose another server for them.`,
  );
