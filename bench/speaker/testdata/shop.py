import sys
class Basket:
    def __init__(self, items):
        self.items = items
    def total(self):
        return sum(i["price"] for i in self.items)
def main():
    b = Basket([{"price": 3}, {"prize": 4}])
    print(b.total())
main()
