public class Ok { static int n(String s) { return s.length(); }
  public static void main(String[] a) { System.out.println(n(null)); } }
