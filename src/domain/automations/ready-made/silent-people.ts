/** Ready-made flows for people who do not react any more: winning them back, and asking whether to go on. */
import { edges, HELLO, readyMade } from './ready-made-flow.ts';

/** Who was there for that long, and has opened and clicked nothing of a campaign in that time. */
const silentFor = (days: number) => ({
  all: [
    { createdAt: { moreThanDaysAgo: days } },
    { none: [{ opened: { inLastDays: days } }, { clicked: { inLastDays: days } }] },
  ],
});

export const WIN_BACK = readyMade({
  name: 'win_back',
  title: 'Win-back',
  description:
    'For people who have opened and clicked nothing for 60 days. Three mails in a month; an order or a click ends it. Who stays silent gets the tag “silent”: start “Re-permission” for them.',
  events: { order_placed: 'An order. It ends the flow.' },
  mails: {
    missed: {
      title: 'We have not seen you for a while',
      subject: 'We have not seen you for a while',
      preheader: 'What is new since then.',
      text: [HELLO, 'We have not seen you for a while. This is what is new since then, in three lines.'],
      button: ['See what is new', 'https://example.com/new'],
    },
    offer: {
      title: 'Something for you to come back',
      subject: 'Something for you, if you come back',
      preheader: '20 % on everything, for two weeks.',
      text: [
        HELLO,
        'If you would like to come back, this makes it easier: 20 % on everything for two weeks. The code is BACK-20.',
      ],
      button: ['Come back', 'https://example.com/back'],
    },
    last: {
      title: 'Shall we stop?',
      subject: 'Shall we stop writing to you?',
      preheader: 'One click, and we go on. Nothing, and we write less.',
      text: [
        HELLO,
        'You have read none of our mails for three months. If you still want them, click below. If you do nothing, we write less often.',
      ],
      button: ['Go on', 'https://example.com/stay'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'weekly', weekdays: [2], at: '10:00', if: silentFor(60) }],
    entry: { mode: 'after_days', days: 180 },
    nodes: [
      { id: 'missed', type: 'send_mail', templateUid: mail('missed') },
      { id: 'two_weeks', type: 'wait', for: { days: 14 }, at: '10:00' },
      { id: 'offer', type: 'send_mail', templateUid: mail('offer') },
      { id: 'two_more_weeks', type: 'wait', for: { days: 14 }, at: '10:00' },
      { id: 'last', type: 'send_mail', templateUid: mail('last') },
      { id: 'a_week', type: 'wait', for: { days: 7 } },
      { id: 'silent', type: 'add_tag', tag: 'silent' },
    ],
    edges: edges('start > missed > two_weeks > offer > two_more_weeks > last > a_week > silent'),
    goals: [
      { id: 'clicked', name: 'Click', event: { type: 'clicked' } },
      { id: 'ordered', name: 'Order', event: { type: 'event', name: 'order_placed' } },
    ],
  }),
});

export const RE_PERMISSION = readyMade({
  name: 're_permission',
  title: 'Re-permission',
  description:
    'Asks people who have opened and clicked nothing for 180 days, or who get the tag “silent”, whether they want to stay. Twice, a week apart. Who clicks neither mail is unsubscribed: that keeps your list good and your mails out of spam folders.',
  mails: {
    stay: {
      title: 'Do you want to stay?',
      subject: 'Do you still want our mails?',
      preheader: 'One click, and everything stays as it is.',
      text: [
        HELLO,
        'You have not opened our mails for a long time. Do you still want them? One click, and everything stays as it is.',
      ],
      button: ['Yes, I want to stay', 'https://example.com/stay'],
    },
    last: {
      title: 'Our last question',
      subject: 'Our last mail, unless you want to stay',
      preheader: 'Without a click we remove you from the list in a week.',
      text: [
        HELLO,
        'This is our last question. If you do not click, we remove you from the list “{LIST_NAME}” in a week. You can come back at any time.',
      ],
      button: ['Yes, I want to stay', 'https://example.com/stay'],
    },
  },
  flow: (mail) => ({
    triggers: [
      { type: 'monthly', day: 1, at: '10:00', if: silentFor(180) },
      { type: 'tag_added', tag: 'silent' },
    ],
    entry: { mode: 'after_days', days: 180 },
    nodes: [
      { id: 'stay', type: 'send_mail', templateUid: mail('stay') },
      { id: 'a_week', type: 'wait_for_event', event: { type: 'clicked', mail: 'stay' }, for: { days: 7 } },
      { id: 'last', type: 'send_mail', templateUid: mail('last') },
      { id: 'one_more_week', type: 'wait_for_event', event: { type: 'clicked' }, for: { days: 7 } },
      { id: 'leave', type: 'unsubscribe' },
      { id: 'stays', type: 'remove_tag', tag: 'silent' },
    ],
    edges: edges(
      'start > stay > a_week.timeout > last > one_more_week.timeout > leave',
      ...['a_week > stays', 'one_more_week > stays'],
    ),
  }),
});
