#include <vector>
#include <string>
int main(){std::vector<std::string> v; v.push_back(3.5, 1); std::string s = v;}