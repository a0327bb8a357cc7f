/** The errors of requests of vendors, by code. */
import { NotFoundError, WrongStateError } from '../../lib/errors.ts';

export const vendorRequestNotFound = () =>
  new NotFoundError('VENDOR_REQUEST_NOT_FOUND', 'No request of a vendor has this uid. They are kept for 7 days.');

export const vendorRequestServerGone = () =>
  new WrongStateError(
    'VENDOR_REQUEST_SERVER_GONE',
    'The sending server of this request was deleted, or its plugin is not active: nothing can read the request.',
  );

export const vendorRequestBusy = () =>
  new WrongStateError('VENDOR_REQUEST_BUSY', 'The driver cannot read requests at present. Try again in a minute.');
