/** What the rows of email verification servers answer. */
import { z } from 'zod';
import { faultShape, serverRow, settingsShape } from '../sending-servers/shapes.ts';
import { actionShape, uidShape } from '../shapes.ts';

export const verificationServerRowShape = z.strictObject(serverRow).meta({ id: 'EmailVerificationServerRow' });

const serverShape = z
  .strictObject({
    ...serverRow,
    fault: faultShape,
    settings: settingsShape,
    per_minute_max: z
      .int()
      .nullable()
      .meta({ description: 'Addresses a minute, over all runs; null: as many as the verifier allows.' }),
    is_system: z.boolean(),
  })
  .meta({ id: 'EmailVerificationServer' });

export const oneVerificationServerShape = z.strictObject({ email_verification_server: serverShape });
export const verificationServerActionShape = actionShape({
  email_verification_server_uid: uidShape,
  email_verification_server: serverShape,
});
export const verificationServerDeletedShape = actionShape({ email_verification_server_uid: uidShape });
export const verificationServerTestedShape = actionShape({
  email_verification_server_uid: uidShape,
  test: z.strictObject({
    passed: z.boolean().meta({ description: 'Whether it can be used.' }),
    fault: z.string().nullable().meta({ description: 'Why it failed; null when it passed.' }),
  }),
});
export const usableVerificationServersShape = z.array(
  z
    .strictObject({ uid: uidShape, name: z.string(), type: z.string(), is_system: z.boolean() })
    .meta({ id: 'UsableVerificationServer' }),
);
