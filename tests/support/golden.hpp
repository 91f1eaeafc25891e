// Texts that are compared with a committed file, or written to it.
//   CHECK_EQ(text, dj_test::golden("errors.txt", text));   // from the repository's root
//   DG_UPDATE_GOLDEN=1 <test>                              // writes instead; then read the diff
// Leaves what the texts are to the tests.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace dj_test {

inline std::string golden(const std::string& name, const std::string& text) {
  const char* root = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string path =
      (root == nullptr ? "" : std::string(root) + "/") + "tests/golden/" + name;
  if (std::getenv("DG_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return text;
  }
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

}  // namespace dj_test
