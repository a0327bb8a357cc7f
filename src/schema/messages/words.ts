/** Words of messages that are not of a campaign. */
import type {
  MessageKind as KindOfMessage,
  MessagePurpose as PurposeOfMessage,
} from '../../domain/messages/message.ts';
import { closedSet } from '../enums.ts';

export const MessagePurpose = closedSet<PurposeOfMessage>(
  'MessagePurpose',
  'What a message is that is not of a campaign.',
  {
    confirmation: 'Asks a pending person to confirm.',
    welcome: 'Greets a new subscriber.',
    goodbye: 'Tells a person that the unsubscription worked.',
    unsubscribe_notification: 'Tells the owner of a list who left.',
    notice: 'Of the program itself, such as the mail that verifies a sender. Only the operator’s account has these.',
    test: 'The test of a campaign.',
    flow: 'Of a flow, by one of its nodes.',
    transactional: 'A transactional mail (`sendTransactional`).',
  },
);

export const MessageKind = closedSet<KindOfMessage>(
  'MessageKind',
  'What a message is to its reader. No kind is sent to an address that bounced hard.',
  {
    security: 'Also sent to who has complained.',
    transactional: 'The reader’s own act caused it. If its outcome is unknown, it is sent once more.',
    optional: 'The reader can do without it. If its outcome is unknown, it is not sent again.',
    marketing: 'Only for who is subscribed.',
  },
);
