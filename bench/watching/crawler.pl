#!/usr/bin/perl
# A crawler as they used to be: a parent that hands out pages, and a process forked for each of them, which fetches,
# decodes, takes the text, hashes it and tells the parent. It keeps the last text of each page to compare lines with.
#
#   perl bench/watching/crawler.pl PORT WORKERS ROUNDS < URLS
#
# Debian: libwww-perl, libparallel-forkmanager-perl. Tells pages, CPU time and memory as JSON.
use strict;
use warnings;
use utf8;
use Digest::SHA qw(sha256_hex);
use Encode qw(encode_utf8);
use HTML::Parser ();
use LWP::UserAgent ();
use Parallel::ForkManager ();

my ($port, $workers, $rounds) = @ARGV;
chomp(my @urls = <STDIN>);
my (%text_of, $pages, $changed, $most_kb) = ((), 0, 0, 0);

sub text_of_page {
    my ($html) = @_;
    my ($unseen, @lines) = (0);
    my $parser = HTML::Parser->new(
        api_version => 3,
        start_h => [sub { $unseen++ if $_[0] =~ /^(?:script|style|title)$/ }, 'tagname'],
        end_h   => [sub { $unseen-- if $_[0] =~ /^(?:script|style|title)$/ }, 'tagname'],
        text_h  => [sub { return if $unseen; (my $line = $_[0]) =~ s/\s+/ /g; $line =~ s/^ | $//g; push @lines, $line if length $line }, 'dtext'],
    );
    $parser->parse($html);
    $parser->eof;
    return join "\n", @lines;
}

sub lines_that_differ {
    my ($before, $after) = @_;
    my %seen = map { $_ => 1 } split /\n/, $before;
    return grep { !$seen{$_} } split /\n/, $after;
}

sub memory_kb {
    open my $status, '<', '/proc/self/status' or return 0;
    while (<$status>) { return $1 if /^VmHWM:\s+(\d+)/ }
    return 0;
}

my $manager = Parallel::ForkManager->new($workers);
$manager->run_on_finish(sub {
    my ($pid, $code, $url, $signal, $core, $told) = @_;
    return unless $told;
    $pages++;
    $changed += $told->{changed};
    $most_kb = $told->{memory_kb} if $told->{memory_kb} > $most_kb;
    $text_of{$url} = $told->{text};
});
for my $round (1 .. $rounds) {
    for my $url (@urls) {
        $manager->start($url) and next;
        my $agent = LWP::UserAgent->new(timeout => 30, max_size => 4 * 1024 * 1024, agent => 'comity-bench/1');
        my $answer = $agent->get($url);
        my $text = text_of_page($answer->decoded_content // '');
        my $before = $text_of{$url};
        my $differs = defined $before && sha256_hex(encode_utf8($before)) ne sha256_hex(encode_utf8($text));
        my @diff = $differs ? lines_that_differ($before, $text) : ();
        $manager->finish(0, {text => $text, changed => @diff ? 1 : 0, memory_kb => memory_kb()});
    }
    $manager->wait_all_children;
}
my ($user, $system, $children_user, $children_system) = times;
printf qq({"pages": %d, "cpu_s": %.3f, "changed": %d, "memory_mb": %.1f, "child_mb": %.1f}\n),
    $pages, $user + $system + $children_user + $children_system, $changed, memory_kb() / 1024, $most_kb / 1024;
