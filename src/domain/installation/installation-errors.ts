/** The errors of the installation, by code. */
import { WrongStateError } from '../../lib/errors.ts';

export const notHeld = () => new WrongStateError('INSTALLATION_NOT_HELD', 'The installation is not on hold.');
