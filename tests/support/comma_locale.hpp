// A process locale in which 1.5 is written "1,5", made by localedef at test time.
//
//   const CommaLocale locale;                       // in force until it goes
//   if (!locale.is_active()) SKIP(CommaLocale::kWhyNot);
//
// Needs no locale package: the source below defines numbers and nothing else.
#pragma once

#include <locale.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace dj_test {

class CommaLocale {
 public:
  static constexpr const char* kWhyNot = "localedef is absent, or could not make a locale";

  CommaLocale() {
    std::string pattern = (std::filesystem::temp_directory_path() / "comma_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return;
    folder_ = pattern;
    std::ofstream(folder_ / "source") << "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\n"
                                         "grouping 3;3\nEND LC_NUMERIC\n";
    if (!run_localedef()) return;
    setenv("LOCPATH", folder_.c_str(), 1);
    char text[8] = {};
    is_active_ = setlocale(LC_ALL, "comma") != nullptr &&
                 std::snprintf(text, sizeof(text), "%.1f", 1.5) == 3 && text[1] == ',';
  }
  ~CommaLocale() {
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool is_active() const { return is_active_; }

 private:
  // -c: categories without a definition are warnings, which its exit code counts; the folder tells.
  bool run_localedef() const {
    const pid_t child = fork();
    if (child == 0) {
      if (freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
      execlp("localedef", "localedef", "-c", "-i", (folder_ / "source").c_str(),
             (folder_ / "comma").c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return std::filesystem::exists(folder_ / "comma" / "LC_NUMERIC");
  }

  std::filesystem::path folder_;
  bool is_active_ = false;
};

}  // namespace dj_test
