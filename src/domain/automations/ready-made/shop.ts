/** Ready-made flows for shops: carts, products that were looked at, orders. */
import { edges, HELLO, readyMade } from './ready-made-flow.ts';

const ordered = { type: 'event', name: 'order_placed' } as const;

export const ABANDONED_CART = readyMade({
  name: 'abandoned_cart',
  title: 'Abandoned cart',
  description:
    'Reminds people of a cart that they have left: after an hour, a day later, and two days later with an offer. It ends at once with the order of the same cart. Each cart counts by itself.',
  events: {
    cart_updated: 'A cart has changed. Payload: `cart_id`, and for the button `cart_url`.',
    order_placed: 'The order. Payload: `cart_id`, the same as before.',
  },
  mails: {
    reminder: {
      title: 'Your cart is waiting',
      subject: 'You left something in your cart',
      preheader: 'We have kept it for you.',
      text: [HELLO, 'You left something in your cart. We have kept it, so that you can go on where you stopped.'],
      button: ['Back to your cart', 'payload.cart_url'],
    },
    question: {
      title: 'Was something unclear?',
      subject: 'Was something unclear about your order?',
      preheader: 'Delivery, returns, payment: ask us.',
      text: [
        HELLO,
        'Your cart is still there. If something about delivery, returns or payment kept you from ordering, reply to this message: a person reads it and answers.',
      ],
      button: ['Back to your cart', 'payload.cart_url'],
    },
    offer: {
      title: 'Free delivery for your cart',
      subject: 'Free delivery, if you order within three days',
      preheader: 'Our last mail about this cart.',
      text: [
        HELLO,
        'This is our last mail about your cart. If you order within three days, delivery is free. The code is FREE-DELIVERY.',
      ],
      button: ['Order now', 'payload.cart_url'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'event', name: 'cart_updated' }],
    entry: { mode: 'per_key', key: 'cart_id' },
    nodes: [
      { id: 'an_hour', type: 'wait', for: { hours: 1 } },
      { id: 'reminder', type: 'send_mail', templateUid: mail('reminder') },
      { id: 'a_day', type: 'wait', for: { hours: 23 } },
      { id: 'question', type: 'send_mail', templateUid: mail('question') },
      { id: 'two_days', type: 'wait', for: { hours: 48 } },
      { id: 'offer', type: 'send_mail', templateUid: mail('offer') },
    ],
    edges: edges('start > an_hour > reminder > a_day > question > two_days > offer'),
    exits: [{ id: 'ordered', name: 'Order of this cart', event: { ...ordered, sameKey: true } }],
  }),
});

export const LOOKED_AND_LEFT = readyMade({
  name: 'looked_and_left',
  title: 'Looked and left',
  description:
    'Writes to people who have looked at a product and put nothing into a cart within four hours. At most once in seven days.',
  events: {
    product_viewed: 'Somebody has looked at a product. Payload, for the mail: `product_name`, `product_url`.',
    cart_updated: 'Somebody has put something into a cart.',
  },
  mails: {
    looked: {
      title: 'Still interested?',
      subject: 'You looked at {{ payload.product_name | default: "something" }}',
      preheader: 'What others ask before they buy it.',
      text: [
        HELLO,
        'You looked at {{ payload.product_name | default: "one of our products" }}. If you are not sure yet, see what others say about it, and what they ask before they buy.',
      ],
      button: ['Look again', 'payload.product_url'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'event', name: 'product_viewed' }],
    entry: { mode: 'after_days', days: 7 },
    nodes: [
      {
        id: 'four_hours',
        type: 'wait_for_event',
        event: { type: 'event', name: 'cart_updated' },
        for: { hours: 4 },
        countsFrom: 'entry',
      },
      { id: 'looked', type: 'send_mail', templateUid: mail('looked'), notAgainWithinDays: 7 },
      { id: 'has_cart', type: 'end', name: 'Has a cart' },
    ],
    edges: edges('start > four_hours.timeout > looked', 'four_hours > has_cart'),
    exits: [{ id: 'ordered', name: 'Order', event: ordered }],
  }),
});

export const AFTER_PURCHASE = readyMade({
  name: 'after_purchase',
  title: 'After a purchase',
  description:
    'Thanks for an order, sends tips three days after it was delivered, and asks for a review a week later. It ends when the order is refunded. Each order counts by itself.',
  events: {
    order_paid: 'An order was paid. Payload: `order_id`; for the mail: `order_url`.',
    delivered: 'It was delivered. Payload: `order_id`. If it does not come within two weeks, the flow goes on.',
    refunded: 'It was refunded. Payload: `order_id`.',
  },
  mails: {
    thanks: {
      title: 'Thank you for your order',
      subject: 'Thank you for your order',
      preheader: 'What happens now.',
      text: [
        HELLO,
        'Thank you for your order. We are packing it now, and write to you when there is something to know.',
      ],
      button: ['See your order', 'payload.order_url'],
      kind: 'optional',
    },
    tips: {
      title: 'How to get most out of it',
      subject: 'Three tips for what you have bought',
      preheader: 'What others learn after months.',
      text: [HELLO, 'By now you have had a first look. These three tips are what others learn only after months.'],
      button: ['Read the tips', 'https://example.com/tips'],
    },
    review: {
      title: 'What do you think?',
      subject: 'Are you content? A review takes one minute',
      preheader: 'It helps others, and us.',
      text: [
        HELLO,
        'You have used it for a while now. What do you think of it? A review takes one minute and helps others to choose.',
        'If you are not content, reply to this mail first: we will put it right.',
      ],
      button: ['Write a review', 'https://example.com/review'],
    },
  },
  flow: (mail) => ({
    triggers: [{ type: 'event', name: 'order_paid' }],
    entry: { mode: 'per_key', key: 'order_id' },
    nodes: [
      { id: 'thanks', type: 'send_mail', templateUid: mail('thanks') },
      {
        ...{ id: 'delivery', type: 'wait_for_event', for: { days: 14 }, countsFrom: 'entry' },
        event: { type: 'event', name: 'delivered', sameKey: true },
      },
      { id: 'three_days', type: 'wait', for: { days: 3 }, at: '10:00' },
      { id: 'tips', type: 'send_mail', templateUid: mail('tips') },
      { id: 'a_week', type: 'wait', for: { days: 7 }, at: '10:00' },
      { id: 'review', type: 'send_mail', templateUid: mail('review') },
    ],
    edges: edges('start > thanks > delivery > three_days > tips > a_week > review', 'delivery.timeout > three_days'),
    exits: [{ id: 'refunded', name: 'Refund', event: { type: 'event', name: 'refunded', sameKey: true } }],
  }),
});
