/** The double of a vendor's web interface as a program of its own, for `bench/vendor-drivers.ts`: it counts messages and keeps none. */
import { parseArgs } from 'node:util';
import { VENDORS } from '../../test/support/vendors.ts';

const { values } = parseArgs({
  options: { type: { type: 'string', default: '' }, delay: { type: 'string', default: '20' } },
});
const known = VENDORS.find(({ type }) => type === values.type);
if (!known) throw new Error(`No such vendor: ${values.type}`);
const vendor = await known.start();
vendor.keepNone();
vendor.answerAfterMs(Number(values.delay));
process.on('message', () => process.send?.({ count: vendor.count() }));
process.on('disconnect', () => process.exit());
process.send?.({ settings: vendor.settings });
