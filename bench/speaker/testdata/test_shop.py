def test_a():
    assert [1,2,3] == [1,2,4]
def test_b():
    raise KeyError("lamp")
