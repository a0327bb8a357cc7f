/** Ready-made flows for people who are new: a welcome series, a lead, a trial. */
import { clickedAny, edges, HELLO, readyMade } from './ready-made-flow.ts';

export const WELCOME_SERIES = readyMade({
  name: 'welcome_series',
  title: 'Welcome series',
  description:
    'Four mails in the first week for everybody who joins the list. Who clicks a link in one of them has arrived, and gets no more of them.',
  mails: {
    welcome: {
      title: 'Welcome',
      subject: 'Welcome! This is what you will get from us',
      preheader: 'What we write about, and how often.',
      text: [
        HELLO,
        'Thank you for joining “{LIST_NAME}”. We write about once a week, and only when there is something worth reading.',
        'If you want to look around now, this is a good place to begin.',
      ],
      button: ['Begin here', 'https://example.com/start'],
    },
    who: {
      title: 'Who we are',
      subject: 'Who writes to you, and why',
      preheader: 'A short story of how we began.',
      text: [
        HELLO,
        'You know what we do. In this mail we say who we are, how we began, and what we care about.',
        'Reply to this mail if you have a question: a person reads every answer.',
      ],
      button: ['Read our story', 'https://example.com/about'],
    },
    best: {
      title: 'What others read most',
      subject: 'Three things that our readers like best',
      preheader: 'If you read only one of our pages, read one of these.',
      text: [
        HELLO,
        'These are the three pages to which our readers come back. Each one takes less than five minutes.',
        'First: how to begin. Second: mistakes that you can avoid. Third: an example from beginning to end.',
      ],
      button: ['Read the first one', 'https://example.com/best'],
    },
    invitation: {
      title: 'Your next step',
      subject: 'Would you like to try it yourself?',
      preheader: 'It takes ten minutes, and we help you.',
      text: [
        HELLO,
        'You have been with us for a week now. If you like what you have read, this is the time to try it yourself.',
        'If something keeps you from it, reply and say what it is. We will help.',
      ],
      button: ['Try it', 'https://example.com/try'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'subscribed' }],
    nodes: [
      { id: 'welcome', type: 'send_mail', templateUid: mail('welcome') },
      { id: 'two_days', type: 'wait', for: { days: 2 } },
      { id: 'who', type: 'send_mail', templateUid: mail('who') },
      { id: 'two_more_days', type: 'wait', for: { days: 2 } },
      { id: 'best', type: 'send_mail', templateUid: mail('best') },
      { id: 'three_days', type: 'wait', for: { days: 3 } },
      { id: 'invitation', type: 'send_mail', templateUid: mail('invitation') },
      { id: 'last_days', type: 'wait', for: { days: 3 } },
      { id: 'done', type: 'end' },
    ],
    edges: edges(
      'start > welcome > two_days > who > two_more_days > best > three_days > invitation > last_days > done',
    ),
    goals: [{ id: 'clicked', name: 'First click', event: { type: 'clicked' } }],
  }),
});

export const LEAD_NURTURE = readyMade({
  name: 'lead_nurture',
  title: 'Lead nurture',
  description:
    'Five mails, three to four days apart, for people who get the tag “lead”, from a form or by hand. When somebody has clicked, you get a notice, so that you can call.',
  mails: {
    answer: {
      title: 'What you asked for',
      subject: 'What you asked for, and what comes next',
      preheader: 'The guide, and four short mails.',
      text: [
        HELLO,
        'Here is what you asked for. In the next two weeks we send you four short mails that help you to decide.',
      ],
      button: ['Open the guide', 'https://example.com/guide'],
    },
    problem: {
      title: 'The most expensive mistake',
      subject: 'The mistake that costs most, and how to avoid it',
      preheader: 'We see it nearly every week.',
      text: [
        HELLO,
        'Most people begin with the tool. Those who are content later begin with the question: what must be better in three months?',
        'Write down one sentence as an answer. It makes every later choice easier.',
      ],
      button: ['See the questions', 'https://example.com/questions'],
    },
    example: {
      title: 'How somebody else did it',
      subject: 'An example from beginning to end',
      preheader: 'What it cost, how long it took, and what went wrong.',
      text: [
        HELLO,
        'This is the story of a customer with the same question as you: what it cost, how long it took, and what went wrong on the way.',
      ],
      button: ['Read the story', 'https://example.com/story'],
    },
    questions: {
      title: 'Three questions that we are asked most',
      subject: 'What it costs, how long it takes, who helps you',
      preheader: 'Short answers, without small print.',
      text: [
        HELLO,
        'What does it cost? How long does it take? Who helps when something goes wrong? Here are the answers, with figures.',
      ],
      button: ['Read the answers', 'https://example.com/answers'],
    },
    offer: {
      title: 'Shall we talk?',
      subject: 'Twenty minutes, and you know whether it suits you',
      preheader: 'Choose a time, or reply with a question.',
      text: [
        HELLO,
        'This is our last mail in this series. If you want to know whether it suits you, choose a time for a short talk.',
        'If it is not the right time, you need to do nothing.',
      ],
      button: ['Choose a time', 'https://example.com/talk'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'tag_added', tag: 'lead' }],
    nodes: [
      { id: 'answer', type: 'send_mail', templateUid: mail('answer') },
      { id: 'wait_1', type: 'wait', for: { days: 3 }, at: '10:00' },
      { id: 'problem', type: 'send_mail', templateUid: mail('problem') },
      { id: 'wait_2', type: 'wait', for: { days: 4 }, at: '10:00' },
      { id: 'example', type: 'send_mail', templateUid: mail('example') },
      { id: 'wait_3', type: 'wait', for: { days: 3 }, at: '10:00' },
      { id: 'clicked', type: 'condition', if: clickedAny('answer', 'problem', 'example'), name: 'Clicked?' },
      {
        ...{ id: 'notice', type: 'notify', subject: 'A lead has clicked' },
        text: 'A lead has clicked a link in your mails. Their page in Mailwright shows what they read: now is a good time to call.',
      },
      { id: 'questions', type: 'send_mail', templateUid: mail('questions') },
      { id: 'wait_4', type: 'wait', for: { days: 4 }, at: '10:00' },
      { id: 'offer', type: 'send_mail', templateUid: mail('offer') },
    ],
    edges: edges(
      'start > answer > wait_1 > problem > wait_2 > example > wait_3 > clicked.yes > notice > questions > wait_4 > offer',
      'clicked.no > questions',
    ),
  }),
});

export const TRIAL_ONBOARDING = readyMade({
  name: 'trial_onboarding',
  title: 'Trial onboarding',
  description:
    'For people who try your product. Each day it waits for the next step; who has not done it gets a mail that helps. Two days before the trial ends it reminds who has not paid.',
  fields: {
    TRIAL_ENDS: {
      label: 'Trial ends',
      type: 'date',
      description: 'The last day of the trial. Without it the flow ends after the steps.',
    },
  },
  events: {
    trial_started: 'Somebody begins a trial.',
    setup_done: 'The first step: they have set up their account.',
    first_use: 'The second step: they have used it for something real.',
    trial_paid: 'They have paid.',
  },
  mails: {
    begin: {
      title: 'Your trial has begun',
      subject: 'Your trial has begun: the first step',
      preheader: 'It takes five minutes.',
      text: [
        HELLO,
        'Welcome! The first step is to set up your account. It takes about five minutes, and this page shows each click.',
      ],
      button: ['Set it up', 'https://example.com/setup'],
    },
    setup: {
      title: 'Do you need help with the setup?',
      subject: 'Do you need help with the setup?',
      preheader: 'The three places at which people stop, and what to do there.',
      text: [
        HELLO,
        'Your account is not set up yet. Most people stop at one of three places. Here is what to do at each.',
        'If you are stuck, reply to this mail: we will look at it together.',
      ],
      button: ['Go on with the setup', 'https://example.com/setup'],
    },
    use: {
      title: 'Try it with something real',
      subject: 'Try it with something real today',
      preheader: 'An example that you can copy.',
      text: [
        HELLO,
        'A trial shows most when you use it for real work. Copy this example and change it: it takes ten minutes.',
      ],
      button: ['Copy the example', 'https://example.com/example'],
    },
    ending: {
      title: 'Your trial ends in two days',
      subject: 'Your trial ends in two days',
      preheader: 'What happens then, and how to stay.',
      text: [
        HELLO,
        'Your trial ends in two days. Your data stays for thirty more days, so nothing is lost if you need time to decide.',
      ],
      button: ['Stay with us', 'https://example.com/pay'],
    },
    thanks: {
      title: 'Thank you',
      subject: 'Thank you for staying',
      preheader: 'What you can do now.',
      text: [
        HELLO,
        'Thank you for staying with us. Here are three things that you can do now which the trial did not have.',
      ],
      button: ['See what is new', 'https://example.com/next'],
    },
    ended: {
      title: 'Your trial has ended',
      subject: 'Your trial has ended. What was missing?',
      preheader: 'One sentence helps us.',
      text: [
        HELLO,
        'Your trial has ended. You can go on at any time.',
        'If something was missing, reply with one sentence. We read every answer.',
      ],
      button: ['Go on', 'https://example.com/pay'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'event', name: 'trial_started' }],
    nodes: [
      { id: 'begin', type: 'send_mail', templateUid: mail('begin') },
      {
        id: 'is_set_up',
        type: 'wait_for_event',
        event: { type: 'event', name: 'setup_done' },
        for: { days: 1 },
        countsFrom: 'entry',
      },
      { id: 'setup', type: 'send_mail', templateUid: mail('setup') },
      {
        id: 'is_used',
        type: 'wait_for_event',
        event: { type: 'event', name: 'first_use' },
        for: { days: 1 },
        countsFrom: 'entry',
      },
      { id: 'use', type: 'send_mail', templateUid: mail('use') },
      { id: 'before_end', type: 'wait_until', field: 'TRIAL_ENDS', before: { days: 2 }, at: '09:00' },
      {
        id: 'has_paid',
        type: 'wait_for_event',
        event: { type: 'event', name: 'trial_paid' },
        for: { minutes: 1 },
        countsFrom: 'entry',
      },
      { id: 'ending', type: 'send_mail', templateUid: mail('ending') },
      { id: 'pays', type: 'wait_for_event', event: { type: 'event', name: 'trial_paid' }, for: { days: 3 } },
      { id: 'thanks', type: 'send_mail', templateUid: mail('thanks') },
      { id: 'ended', type: 'send_mail', templateUid: mail('ended') },
    ],
    edges: edges(
      'start > begin > is_set_up.timeout > setup > is_used.timeout > use > before_end > has_paid.timeout > ending > pays > thanks',
      ...['is_set_up > is_used', 'is_used > before_end', 'has_paid > thanks', 'pays.timeout > ended'],
    ),
  }),
});
