/** Ready-made flows by the calendar: birthdays, anniversaries, renewals, a weekly digest. */
import { clickedAny, edges, HELLO, readyMade } from './ready-made-flow.ts';

export const BIRTHDAY = readyMade({
  name: 'birthday',
  title: 'Birthday',
  description:
    'A mail three days before the birthday, one on the day at 09:00 of the reader’s own clock, and a reminder a week later for who has not used the present. Remove the first mail if you do not want it.',
  fields: {
    BIRTHDAY: {
      label: 'Birthday',
      type: 'date',
      description: 'The day of birth. Who was born on 29 February gets the mail on the 28th in other years.',
    },
  },
  mails: {
    before: {
      title: 'Your birthday is near',
      subject: 'Something is coming up in three days',
      preheader: 'We have not forgotten it.',
      text: [
        HELLO,
        'In three days it is your birthday. We are preparing something small for you: look into your mail on the day.',
      ],
    },
    day: {
      title: 'Happy birthday!',
      subject: 'Happy birthday! This is for you',
      preheader: 'A present, for two weeks.',
      text: [
        HELLO,
        'All the best for your birthday! Our present for you is a discount of 15 % for two weeks. The code is BIRTHDAY-15.',
      ],
      button: ['Use your present', 'https://example.com/birthday'],
    },
    reminder: {
      title: 'Your present is still here',
      subject: 'Your birthday present ends in a week',
      preheader: 'The code is BIRTHDAY-15.',
      text: [HELLO, 'You have not used your birthday present yet. The code BIRTHDAY-15 is good for one more week.'],
      button: ['Use your present', 'https://example.com/birthday'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'date_field', field: 'BIRTHDAY', before: { days: 3 }, at: '09:00', yearly: true }],
    entry: { mode: 'after_days', days: 300 },
    nodes: [
      { id: 'before', type: 'send_mail', templateUid: mail('before') },
      { id: 'the_day', type: 'wait_until', field: 'BIRTHDAY', at: '09:00', yearly: true },
      { id: 'day', type: 'send_mail', templateUid: mail('day') },
      { id: 'a_week', type: 'wait', for: { days: 7 }, at: '09:00' },
      { id: 'used', type: 'condition', if: clickedAny('day'), name: 'Clicked?' },
      { id: 'reminder', type: 'send_mail', templateUid: mail('reminder') },
      { id: 'done', type: 'end' },
    ],
    edges: edges('start > before > the_day > day > a_week > used.no > reminder', 'used.yes > done'),
  }),
});

export const ANNIVERSARY = readyMade({
  name: 'anniversary',
  title: 'Anniversary',
  description: 'One mail each year on the day on which somebody joined, from the first year on.',
  fields: {
    JOINED: {
      label: 'Joined',
      type: 'date',
      description: 'The day on which the person joined, such as the first order.',
    },
  },
  mails: {
    year: {
      title: 'One more year together',
      subject: 'One more year together. Thank you!',
      preheader: 'A small thank-you for staying with us.',
      text: [
        HELLO,
        'It is a year again since you joined us. Thank you for staying. As a small thank-you, this page is for you alone.',
      ],
      button: ['See what we have for you', 'https://example.com/thanks'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'date_field', field: 'JOINED', at: '09:00', yearly: true, notInFirstYear: true }],
    entry: { mode: 'after_days', days: 300 },
    nodes: [{ id: 'year', type: 'send_mail', templateUid: mail('year') }],
    edges: edges('start > year'),
  }),
});

export const RENEWAL = readyMade({
  name: 'renewal',
  title: 'Renewal',
  description: 'Reminds people 30 days, 7 days and 1 day before a contract ends. It ends at once when they renew.',
  fields: {
    RENEWS_ON: {
      label: 'Renews on',
      type: 'date',
      description: 'The day on which the contract ends. Write the next one after a renewal.',
    },
  },
  events: { renewed: 'The contract was renewed.' },
  mails: {
    month: {
      title: 'Your contract ends in a month',
      subject: 'Your contract ends in a month',
      preheader: 'What changes, and what you can choose.',
      text: [
        HELLO,
        'Your contract ends on {RENEWS_ON}. There is time: look at what has changed, and choose what suits you for the next year.',
      ],
      button: ['See your choices', 'https://example.com/renew'],
    },
    week: {
      title: 'One week left',
      subject: 'One week left to renew',
      preheader: 'It takes two minutes.',
      text: [
        HELLO,
        'Your contract ends on {RENEWS_ON}, in a week. Renewing takes two minutes, and nothing is interrupted.',
      ],
      button: ['Renew', 'https://example.com/renew'],
    },
    day: {
      title: 'Your contract ends tomorrow',
      subject: 'Your contract ends tomorrow',
      preheader: 'What happens if you do nothing.',
      text: [HELLO, 'Your contract ends tomorrow. If you do nothing, it ends. If you want to go on, renew today.'],
      button: ['Renew now', 'https://example.com/renew'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'date_field', field: 'RENEWS_ON', before: { days: 30 }, at: '09:00' }],
    entry: { mode: 'after_days', days: 25 },
    nodes: [
      { id: 'month', type: 'send_mail', templateUid: mail('month') },
      { id: 'week_before', type: 'wait_until', field: 'RENEWS_ON', before: { days: 7 }, at: '09:00' },
      { id: 'week', type: 'send_mail', templateUid: mail('week') },
      { id: 'day_before', type: 'wait_until', field: 'RENEWS_ON', before: { days: 1 }, at: '09:00' },
      { id: 'day', type: 'send_mail', templateUid: mail('day') },
    ],
    edges: edges('start > month > week_before > week > day_before > day'),
    goals: [{ id: 'renewed', name: 'Renewed', event: { type: 'event', name: 'renewed' } }],
  }),
});

export const DIGEST = readyMade({
  name: 'digest',
  title: 'Weekly digest',
  description:
    'Each Friday at 08:00 of the reader’s own clock: who has something new gets one mail, who has nothing new gets none. Your program writes what is new into a field during the week; the flow empties it after the mail.',
  fields: {
    DIGEST: {
      label: 'What is new',
      type: 'textarea',
      description: 'What is new for this person, as text. Empty: nothing.',
    },
  },
  mails: {
    digest: {
      title: 'What is new for you',
      subject: 'What is new for you this week',
      preheader: 'All of it in one mail.',
      text: [
        HELLO,
        'This is what is new for you since last week:',
        '{DIGEST}',
        'That is all. The next mail comes when there is something new.',
      ],
      button: ['See all of it', 'https://example.com/new'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'weekly', weekdays: [5], at: '08:00' }],
    entry: { mode: 'after_end' },
    nodes: [
      {
        id: 'is_new',
        type: 'condition',
        if: { person: { field: { tag: 'DIGEST', text: { isEmpty: false } } } },
        name: 'Anything new?',
      },
      { id: 'digest', type: 'send_mail', templateUid: mail('digest'), notAgainWithinDays: 6 },
      { id: 'emptied', type: 'set_field', field: 'DIGEST', value: '' },
      { id: 'nothing', type: 'end', name: 'Nothing new' },
    ],
    edges: edges('start > is_new.yes > digest > emptied', 'is_new.no > nothing'),
  }),
});
