def split_bill(amount, people):
    return [round(amount / people, 2)] * people


def pay(balance, amount):
    return balance - amount
