# Writes a C++ file with the stop words of each language that Lingua::StopWords has a list for.
#
#   perl stop_words.pl stop_word_lists.cpp
use strict;
use warnings;
use Lingua::StopWords qw(getStopWords);

my ($path) = @ARGV;
my %codes = (danish => 'da', dutch => 'nl', english => 'en', finnish => 'fi', french => 'fr', german => 'de', hungarian => 'hu',
             italian => 'it', norwegian => 'no', portuguese => 'pt', romanian => 'ro', russian => 'ru', spanish => 'es',
             swedish => 'sv');
open(my $out, '>:utf8', "$path.new") or die "$path: $!";
print $out qq(#include "text/stop_words.h"\n\nnamespace text {\nconst std::string_view stop_word_lists =\n);
for my $language (sort keys %codes) {
  my $words = getStopWords($codes{$language}, 'UTF-8') or die "no list for $language";
  print $out qq(    "$language"), (map { qq( "\\n$_") } sort keys %$words), qq( "\\n\\n"\n);
}
print $out "    ;\n}  // namespace text\n";
close($out) or die "$path: $!";
rename("$path.new", $path) or die "$path: $!";
