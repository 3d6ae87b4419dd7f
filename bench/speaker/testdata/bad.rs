fn main() { let v = vec![1,2,3]; let w = v; println!("{:?}", v); let x: i32 = "a"; }
